"""The service alone: several workers, one that is killed, an end in order, and a log to show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairlead.hotfix.catalog import Fix, switch_region
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.publisher import change_catalog
from fairlead.hotfix.service.attestation.join import Joining, issue_token
from fairlead.hotfix.service.fleet import Fleet
from served_hotfixes import BASE, FIX, make_depot, make_fix, report_text
from service.hotfix_service import HotfixProcess, request

SECRET = "c2VjcmV0LXByb29mLW9mLWEtbWFjaGluZQ"


def make_served_depot(path: Path, fix: Fix) -> Depot:
    depot = make_depot(path / "depot", [fix], datetime.now(UTC))
    (depot.directory / fix.packages[0]).write_bytes(b"package" * 40_000)
    return depot


@pytest.fixture
def served(tmp_path: Path) -> Iterator[HotfixProcess]:
    depot = make_served_depot(tmp_path, make_fix(everyone=True, published_at=datetime.now(UTC)))
    running = HotfixProcess(tmp_path, depot, 3, "--insecure-lab")
    yield running
    running.kill()


def test_two_hundred_machines_at_once_are_answered_by_several_workers(
    served: HotfixProcess,
) -> None:
    assert len(served.workers()) == 3

    answers = served.ask_all([request(machine=f"m{number}", proof=SECRET) for number in range(200)])

    assert {status for status, _ in answers} == {200}
    assert all(json.loads(body)["hotfixes"] == {BASE: FIX} for _, body in answers)


def test_a_worker_that_was_killed_is_replaced_and_machines_are_answered_on(
    served: HotfixProcess,
) -> None:
    before = served.workers()
    os.kill(before[1], signal.SIGKILL)

    end = time.monotonic() + 20
    while time.monotonic() < end and (len(served.workers()) < 3 or before[1] in served.workers()):
        time.sleep(0.05)
    answers = served.ask_all([request(machine=f"m{number}", proof=SECRET) for number in range(50)])

    assert {status for status, _ in answers} == {200}
    assert "worker 1 was ended by SIGKILL; another takes its place" in served.log.read_text()


def test_reports_of_all_workers_are_in_one_ledger(served: HotfixProcess, tmp_path: Path) -> None:
    reports = [
        request(
            "/v1/hotfix-report",
            machine=f"m{number}",
            proof=SECRET,
            body=report_text(run=str(number), used=FIX if number % 2 else ""),
        )
        for number in range(60)
    ]

    assert {status for status, _ in served.ask_all(reports)} == {204}
    (reach,) = Fleet(tmp_path / "depot").reach_of([make_fix(everyone=True)])
    assert (reach.have, reach.lack) == (30, 30)


def test_files_of_the_depot_come_whole_and_keys_never(
    served: HotfixProcess, tmp_path: Path
) -> None:
    package = make_fix().packages[0]
    depot = tmp_path / "depot"

    answers = served.ask_all(
        [
            request(f"/depot/{package}"),
            request("/depot/metadata/root.json"),
            request("/depot/keys/online.pem"),
            request("/depot/metadata/../keys/online.pem"),
            request("/depot/ledger.db"),
        ]
    )

    assert [status for status, _ in answers] == [200, 200, 404, 404, 404]
    assert answers[0][1] == (depot / package).read_bytes()
    assert answers[1][1] == (depot / "metadata" / "root.json").read_bytes()


def test_it_ends_in_order_and_its_log_holds_no_proof(served: HotfixProcess) -> None:
    refused = [
        request(proof=SECRET),
        request(machine="m1"),
        request("/v1/hotfix?component=x", machine="m1", proof=SECRET),
        request("/v1/hotfix-report", machine="m1", proof=SECRET, body=b"{"),
        request(f"/v1/hotfix?component={SECRET}", machine=SECRET, proof=SECRET),
    ]
    statuses = [status for status, _ in served.ask_all(refused * 5)]
    workers = served.workers()

    began = time.monotonic()
    code = served.stop()

    assert statuses == [401, 401, 400, 400, 400] * 5
    assert code == 0
    assert time.monotonic() - began < 8
    assert not any(Path(f"/proc/{process}").exists() for process in workers)
    log = served.log.read_text()
    assert SECRET not in log
    assert "refused, UNAUTHENTICATED: lab: nameless" in log
    assert "refused, INVALID_ARGUMENT: component" in log
    assert log.rstrip().endswith("stopped")


def test_workers_end_when_whoever_looks_after_them_is_gone(served: HotfixProcess) -> None:
    workers = served.workers()
    served.process.kill()
    served.process.wait()

    end = time.monotonic() + 10
    while time.monotonic() < end and any(Path(f"/proc/{one}").exists() for one in workers):
        time.sleep(0.05)

    assert not any(_runs(one) for one in workers)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_does_not_start_without_a_way_to_verify_who_asks(tmp_path: Path) -> None:
    depot = make_served_depot(tmp_path, make_fix())
    words = [sys.executable, "-m", "fairlead", "hotfix", "serve", "--depot", str(depot.directory)]
    words += ["--tls-cert", "server.pem", "--tls-key", "server.pem"]

    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)

    assert ended.returncode == 2
    assert "nothing says how machines prove who they are" in ended.stderr
    assert "--insecure-lab" in ended.stderr


def test_a_replica_in_a_cluster_does_not_start_beside_keys(tmp_path: Path) -> None:
    depot = make_served_depot(tmp_path, make_fix())
    words = [sys.executable, "-m", "fairlead", "hotfix", "serve", "--depot", str(depot.directory)]
    words += ["--cluster-ledger", "here", "--insecure-lab"]
    words += ["--tls-cert", "server.pem", "--tls-key", "server.pem"]

    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)

    assert ended.returncode == 2
    assert "keys has keys, which never enter a cluster" in ended.stderr


def test_a_join_token_for_one_use_is_taken_once_by_all_workers_together(tmp_path: Path) -> None:
    depot = make_served_depot(tmp_path, make_fix(everyone=True, published_at=datetime.now(UTC)))
    key = b"k" * 40
    (tmp_path / "join.key").write_bytes(key + b"\n")
    until = datetime.now(UTC) + timedelta(hours=1)
    once, often = (
        issue_token(
            Joining(machine="m1", region="local", until=until, nonce=f"n{uses}", uses=uses), key
        )
        for uses in (1, 0)
    )
    served = HotfixProcess(tmp_path, depot, 2, "--join-key", "join.key")
    try:
        answers = served.ask_all([request(machine="m1", proof=once)] * 12)
        assert sorted(status for status, _ in answers) == [200] + [401] * 11
        answers = served.ask_all([request(machine="m1", proof=often)] * 12)
        assert {status for status, _ in answers} == {200}
        assert served.stop() == 0
        log = served.log.read_text()
        assert "refused, UNAUTHENTICATED: join: replayed" in log
        assert not any(token in log for token in (once, often, *once.split(".")[1:]))
    finally:
        served.kill()


def test_a_region_that_is_switched_on_is_served_without_a_restart(tmp_path: Path) -> None:
    depot = make_served_depot(tmp_path, make_fix(everyone=True, published_at=datetime.now(UTC)))
    key = b"k" * 40
    (tmp_path / "join.key").write_bytes(key + b"\n")
    until = datetime.now(UTC) + timedelta(hours=1)
    proof = issue_token(Joining(machine="m1", region="north", until=until, nonce="n"), key)
    served = HotfixProcess(tmp_path, depot, 2, "--join-key", "join.key")
    asked = [request(machine="m1", proof=proof)] * 4
    try:
        before = {status for status, _ in served.ask_all(asked)}
        change_catalog(depot, lambda one: switch_region(one, "north", is_on=True))
        end = time.monotonic() + 20
        while {status for status, _ in served.ask_all(asked)} != {200}:
            assert time.monotonic() < end, served.log.read_text()
            time.sleep(0.05)
    finally:
        served.kill()

    assert before == {403}
