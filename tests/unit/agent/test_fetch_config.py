"""A machine with only a boot document fetches its config, or stops and says why."""

from __future__ import annotations

import json
import re

import pytest

from builders import AKS, AKS_IMAGE, CONFIG_PATH, STATUS_PATH, make_boot, make_disk, make_sim_host
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.control_plane import wait_before
from fairlead.agent.https_fetch import Request
from fairlead.contract.boot_document import BootDocument, address_of, render_boot_document
from fairlead.errors import InputError
from fairlead.sim.host import Server, SimHost

ENDPOINT = "https://api.example.test/node?pool=a"
TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="  # noqa: S105 - of a server that does not exist
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CONFIG = b'{"version": "v1"}'
STUB_PATH = f"{AKS}/fairlead-boot-document.json"

Answer = tuple[int, bytes] | OSError


def answers(*given: Answer) -> Server:
    """A server that gives these answers in order, the last one for ever."""
    left = list(given)

    def server(_host: SimHost, request: Request) -> tuple[int, bytes]:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, OSError):
            raise answer
        return answer if request.token == TOKEN else (401, b"")

    return server


def machine(server: Server | None = None, *, stub: bytes | None = None) -> SimHost:
    """An AKS image that was given a boot document and no config."""
    if stub is None:
        stub = render_boot_document(BootDocument(ENDPOINT, CA, TOKEN, 60))
    host = make_sim_host(make_disk({**AKS_IMAGE, STUB_PATH: stub}))
    if server is not None:
        host.servers[ENDPOINT] = server
    return host


def boot_and_status(host: SimHost) -> tuple[int, dict[str, str]]:
    code = run_boot(make_boot(host), BOOT_STAGES, "202611.16.0")
    return code, json.loads(host.read_file(STATUS_PATH))


def test_the_config_is_fetched_kept_privately_and_used() -> None:
    host = machine(answers((200, CONFIG)))

    code, status = boot_and_status(host)

    assert (code, status["ExitCode"]) == (0, "0")
    assert host.read_file(CONFIG_PATH) == CONFIG
    assert (host.file_mode(CONFIG_PATH) or 0) & 0o777 == 0o600


def test_a_second_boot_does_not_ask_again() -> None:
    host = machine(answers((200, CONFIG)))
    boot_and_status(host)
    host.servers[ENDPOINT] = answers((500, b""))

    assert boot_and_status(host)[0] == 0


@pytest.mark.parametrize(
    "trouble",
    [(500, b""), (503, b"busy"), (511, b""), ConnectionRefusedError(111, "refused"),
     TimeoutError("slow"), OSError(-3, "Temporary failure in name resolution")],
)  # fmt: skip
def test_trouble_that_may_pass_is_tried_again(trouble: Answer) -> None:
    host = machine(answers(trouble, trouble, (200, CONFIG)))

    assert boot_and_status(host)[0] == 0
    assert b"node config not fetched, trying again" in host.said


def test_a_machine_that_is_named_after_its_first_try_asks_by_its_own_name() -> None:
    asked: list[str] = []

    def server(host: SimHost, request: Request) -> tuple[int, bytes]:
        asked.append(request.machine)
        host.write_file("/etc/hostname", b"workers-1\n", 0o644, sync=True)
        return (200, CONFIG) if request.machine == "workers-1" else (511, b"")

    host = machine(server)
    host.make_directory("/etc")
    host.write_file("/etc/hostname", b"image\n", 0o644, sync=True)

    assert boot_and_status(host)[0] == 0
    assert asked == ["image", "workers-1"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 301, 204])
def test_what_asking_again_cannot_change_stops_the_boot_at_once(status: int) -> None:
    host = machine(answers((status, b""), (200, CONFIG)))

    code, verdict = boot_and_status(host)

    assert (code, verdict["ExitCode"]) == (1, "240")
    assert verdict["Error"].startswith(
        f"no node config from https://api.example.test/node: status {status}"
    )
    assert host.file_mode(CONFIG_PATH) is None


def test_the_deadline_ends_the_trying_and_the_status_says_so() -> None:
    host = machine(answers((511, b"")))
    start_ns = host.now_ns()

    code, verdict = boot_and_status(host)

    assert (code, verdict["ExitCode"]) == (1, "240")
    assert re.search(r"in 60 s \(tries: \d+\): status 511$", verdict["Error"])
    assert 40e9 < host.now_ns() - start_ns < 61e9


def test_what_a_service_says_of_its_refusal_is_in_the_status() -> None:
    says = "the node config has 4300000 bytes, at most 4194304 can be served"
    host = machine(answers((500, json.dumps({"error": says}).encode())))

    _, verdict = boot_and_status(host)

    assert verdict["Error"].endswith(f": status 500: {says}")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>no gateway</html>", ""),
        (b'{"error": ["a", "list"]}', ""),
        (b'{"error": ' + b"[" * 3_000, ""),
        (b'{"error": "' + b"x" * 5_000 + b'"}', ""),
        (b'["error"]', ""),
        (b"\xff\xfe", ""),
        (b'{"error": "\\u001b[2Jgone\\ud800"}', ": \\x1b[2Jgone\\ud800"),
        (b'{"error": "' + b"x" * 400 + b'"}', ": " + "x" * 300),
    ],
)
def test_a_refusal_that_is_hostile_is_shortened_made_visible_or_left_out(
    body: bytes, told: str
) -> None:
    host = machine(answers((500, body)))

    _, verdict = boot_and_status(host)

    assert re.search(r"tries: \d+\): status 500(.*)$", verdict["Error"])[1] == told  # type: ignore[index]


def test_a_server_that_cannot_prove_itself_is_not_asked_twice() -> None:
    unproven = OSError("certificate verify failed: unable to get local issuer certificate")
    unproven.verify_code = 20  # type: ignore[attr-defined]
    host = machine(answers(unproven, (200, CONFIG)))

    code, verdict = boot_and_status(host)

    assert code == 1
    assert "did not prove itself to the boot document's CA" in verdict["Error"]
    assert host.file_mode(CONFIG_PATH) is None


def test_a_certificate_of_the_future_may_be_the_clock_of_a_young_machine() -> None:
    early = OSError("certificate verify failed: certificate is not yet valid")
    early.verify_code = 9  # type: ignore[attr-defined]

    assert boot_and_status(machine(answers(early, (200, CONFIG))))[0] == 0


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"v1"', b'{"version": "v1"'])
def test_an_answer_that_is_no_config_is_not_kept(body: bytes) -> None:
    host = machine(answers((200, body)))

    code, verdict = boot_and_status(host)

    assert code == 1
    assert verdict["Error"].startswith("the answer is no node config")
    assert host.file_mode(CONFIG_PATH) is None


def test_the_token_is_in_nothing_that_is_written() -> None:
    host = machine(answers(OSError(5, f"odd: Bearer {TOKEN}"), (404, TOKEN.encode())))

    boot_and_status(host)

    written = b"".join(
        inode.content
        for path in host.disk.names
        if path != STUB_PATH and (inode := host.disk.find(path)) is not None
    )
    assert b"odd: Bearer [secret]" in written
    assert TOKEN.encode() not in written + host.said + host.console


@pytest.mark.parametrize(
    ("stub", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "found a list, expected an object"),
        (b'{"endpoint": "https://a/b", "ca": 1, "token": "abcdef"}', "ca: found a number"),
        (b'{"endpoint": "http://a/b", "ca": "", "token": ""}', "endpoint: must be an https://"),
    ],
)
def test_a_boot_document_that_cannot_be_used_stops_the_boot(stub: bytes, message: str) -> None:
    code, verdict = boot_and_status(machine(stub=stub))

    assert code == 1
    assert message in verdict["Error"]


def test_waits_double_are_bounded_and_differ_between_machines() -> None:
    waits = [wait_before(number, "run-1") for number in range(2, 14)]

    assert all(
        longest / 2 <= wait <= longest
        for wait, longest in zip(waits, [0.5, 1, 2, 4, 8, *[15] * 7], strict=True)
    )
    assert len({wait_before(5, f"run-{machine}") for machine in range(50)}) > 30


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("https://a.example", ("a.example", 443, "/")),
        ("https://a.example:8443/x/y?z=1", ("a.example", 8443, "/x/y?z=1")),
        ("https://[::1]:6443/x", ("::1", 6443, "/x")),
        ("https://[::1]/x", ("::1", 443, "/x")),
    ],
)
def test_addresses(endpoint: str, address: tuple[str, int, str]) -> None:
    assert address_of(endpoint) == address


@pytest.mark.parametrize(
    "endpoint",
    ["", "a.example", "http://a", "https://", "https:///x", "https://u:p@a/x", "https://a:0/x",
     "https://a:65536/", "https://a:x/", "https://a/\r\nX: y", "https://a/ b", "https://a/#b",
     "https://é/", "https://a?b"],
)  # fmt: skip
def test_addresses_that_are_refused(endpoint: str) -> None:
    with pytest.raises(InputError, match="endpoint"):
        address_of(endpoint)


@pytest.mark.parametrize(
    ("field", "document"),
    [
        ("token", ("https://a/", CA, "a b", 60)),
        ("token", ("https://a/", CA, "", 60)),
        ("token", ("https://a/", CA, "a\r\nb", 60)),
        ("ca", ("https://a/", "none", "abc", 60)),
        ("deadline_s", ("https://a/", CA, "abc", 0)),
        ("deadline_s", ("https://a/", CA, "abc", 1e9)),
    ],
)
def test_stubs_that_are_refused(field: str, document: tuple[str, str, str, float]) -> None:
    with pytest.raises(InputError) as caught:
        BootDocument(*document)
    assert caught.value.field == field
