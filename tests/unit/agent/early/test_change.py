"""A running node is taken to another boot document, in place."""

import json

import pytest

from builders import make_disk
from fairlead.agent.early.change import boot_by_service, put_document
from fairlead.agent.files import write_atomically
from fairlead.agent.layout import Layout
from fairlead.agent.once import digest_of, keep_verdict
from fairlead.agent.process import Finished
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import Inputs
from fairlead.errors import InputError, UnavailableError
from fairlead.sim.host import HostStoppedError, SimHost

LAYOUT = Layout("fairlead", {})
OLD, NEW = "/etc/fairlead/node-config.json", "/etc/fairlead/boot-document.json"
SERVICE = "fairlead-node.service"


def document(token: str) -> bytes:
    fields = {
        "endpoint": "https://payload.example.test/v1/node-config",
        "ca": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "token": token,
    }
    return json.dumps(fields).encode()


FIRST, SECOND = document("b25l"), document("dHdv")


def a_run(host: SimHost) -> Run:
    host.is_directory = False
    return Run(host, LAYOUT, "0011223344556677")


def a_node(stops_at: int | None = None) -> SimHost:
    disk = make_disk({OLD: b'{"version": "v1"}', NEW: FIRST})
    return SimHost(disk, stops_at=stops_at)


def test_another_document_takes_the_config_of_the_one_before_away() -> None:
    host = a_node()

    assert put_document(a_run(host), SECOND) is True

    assert host.disk.find(OLD) is None
    assert host.disk.read(NEW).content == SECOND
    assert put_document(a_run(host), SECOND) is False


def test_a_fetched_config_of_the_same_document_stays() -> None:
    host = a_node()

    assert put_document(a_run(host), FIRST) is False

    assert host.disk.read(OLD).content == b'{"version": "v1"}'


def test_what_no_node_could_boot_from_changes_nothing() -> None:
    host = a_node()

    with pytest.raises(InputError):
        put_document(a_run(host), b'{"endpoint": "http://a"}')

    assert host.disk.read(NEW).content == FIRST
    assert host.disk.find(OLD) is not None


def test_cut_off_anywhere_it_never_pairs_the_new_document_with_the_old_config() -> None:
    stopped = 0
    for at in range(100):
        host = a_node(stops_at=at)
        try:
            put_document(a_run(host), SECOND)
        except HostStoppedError:
            stopped += 1
            has_new = host.disk.read(NEW).content == SECOND
            assert not (has_new and host.disk.find(OLD) is not None), at
            again = SimHost(host.disk)
            put_document(a_run(again), SECOND)
        assert host.disk.read(NEW).content == SECOND
        assert host.disk.find(OLD) is None
    assert stopped > 3


def serving(host: SimHost, run: Run, exit_code: int, error: str = "no room") -> None:
    """Let systemctl run the service, which leaves this verdict."""

    def systemctl(_host: SimHost, command: list[str], _environment: dict[str, str]) -> Finished:
        if command[1] in ("start", "restart"):
            failed = {"Error": error, "Output": "one of many lines\n" * 100}
            status = {"ExitCode": str(exit_code), **({} if exit_code == 0 else failed)}
            write_atomically(host, LAYOUT.status, json.dumps(status).encode(), 0o644)
            keep_verdict(run, digest_of(run, Inputs("", "")), exit_code)
        return Finished(0 if exit_code == 0 else 1, b"")

    host.programs["systemctl"] = systemctl


def test_a_new_document_restarts_the_service_of_the_node_and_ends_as_that_did() -> None:
    host = a_node()
    run = a_run(host)
    serving(host, run, 0)

    assert boot_by_service(run, is_new=True) == 0

    assert host.started == [
        ["systemctl", "reset-failed", SERVICE],
        ["systemctl", "restart", SERVICE],
    ]


def test_a_run_that_is_under_way_is_waited_for() -> None:
    host = a_node()
    run = a_run(host)
    serving(host, run, 0)

    assert boot_by_service(run, is_new=False) == 0

    assert ["systemctl", "start", SERVICE] in host.started


def test_a_document_that_had_its_run_ends_as_that_did_and_starts_nothing() -> None:
    host = a_node()
    run = a_run(host)
    keep_verdict(run, digest_of(run, Inputs("", "")), 0)

    assert boot_by_service(run, is_new=False) == 0

    assert host.started == []


def test_a_change_that_fails_says_why_in_the_words_of_the_status() -> None:
    host = a_node()
    run = a_run(host)
    serving(host, run, 50)

    with pytest.raises(InputError, match=r"^provision failed: exitCode=50 error=no room$"):
        boot_by_service(run, is_new=True)


def test_why_a_change_failed_is_one_line_that_a_kubelet_keeps_whole() -> None:
    host = a_node()
    run = a_run(host)
    serving(host, run, 50, "step start-kubelet:\n it died: " + "\N{EURO SIGN}" * 2000)

    with pytest.raises(InputError) as raised:
        boot_by_service(run, is_new=True)

    says = str(raised.value)
    assert says.startswith(
        "provision failed: exitCode=50 error=step start-kubelet: it died: \u20ac"
    )
    assert len(says.encode()) < 2048


def test_a_service_without_a_verdict_is_named() -> None:
    host = a_node()
    run = a_run(host)
    host.programs["systemctl"] = lambda _h, _c, _e: Finished(1, b"Job failed. See journalctl.\n")

    with pytest.raises(UnavailableError, match=r"fairlead-node.service ended without a verdict: J"):
        boot_by_service(run, is_new=True)
