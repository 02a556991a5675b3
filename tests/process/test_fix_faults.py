"""
A fix path that is hurt in every way: the machine is provisioned, in time, and nothing is left.

Machines are directories, and the service is a server of the test's own. What apt does when it is
hurt is tests/boot/test_apt_faults.py.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from builders import VALID_CONFIG
from process.agent_process import make_aks_node
from process.fault_table import Table, fresh
from process.fix_fault_run import Case, Outcome, run_case
from process.fix_kit import FIXED, make_kit
from process.test_fix_path import pack
from shared_cases import REPOSITORY

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")

RUNS = 5
# Fewer, and more operations than an attempt has.
OPERATIONS, MOST_OPERATIONS = 40, 200
KILLED = ("kill", "late-15")
STILL_AT = range(1, 70, 9)
FREE_KIB = (0, 32, 200)

# By fault: what is different, and what the fact about fixes then says.
USED = f"'used': '{FIXED}'"
FAULTS: dict[str, tuple[dict[str, str | bool], str]] = {
    "service refused": ({"listens": False}, "'checked': 'failed'"),
    "service hangs": ({"asked": "hang"}, "'checked': 'failed'"),
    "service drip-feeds": ({"asked": "drip"}, "'checked': 'failed'"),
    "service says 500": ({"asked": "500"}, "'checked': 'failed'"),
    "service says 503": ({"asked": "503"}, "'checked': 'failed'"),
    "service hangs up": ({"asked": "cut"}, "'checked': 'failed'"),
    "metadata expired": ({"asked": "expired"}, "'checked': 'notTrusted'"),
    "metadata with a bad signature": ({"asked": "forged"}, "'checked': 'notTrusted'"),
    "clock three days behind": ({"asked": "ahead"}, USED),
    "package hangs": ({"package": "hang"}, "timed out"),
    "package drip-feeds": ({"package": "drip"}, "no package from https:"),
    "package says 503": ({"package": "503"}, "status 503"),
    "package is cut short": ({"package": "cut"}, "no package from"),
    "package is another one": ({"package": "other"}, "is not the package that was signed"),
    "service over gRPC refused": ({"wire": "grpc", "listens": False}, "'checked': 'failed'"),
    "service over gRPC hangs": ({"wire": "grpc", "asked": "hang"}, "'checked': 'failed'"),
    "service over gRPC drip-feeds": ({"wire": "grpc", "asked": "frames"}, "'checked': 'failed'"),
    "service over gRPC sends garbage and hangs up": (
        {"wire": "grpc", "asked": "cut"},
        "'checked': 'failed'",
    ),
    "service over gRPC speaks HTTP/1": ({"wire": "grpc", "asked": "503"}, "'checked': 'failed'"),
    "nothing": ({}, USED),
}
# By what the metadata service does: what asking then says.
METADATA = {"refused": "refused", "hang": "timed out", "drip": "time", "503": "503"}
QUICK = ("service hangs", "metadata expired", "clock three days behind", "package drip-feeds")


def test_the_matrix_has_a_hundred_runs_and_more(capsys: pytest.CaptureFixture[str]) -> None:
    """Counted here and not while it runs: workers share the cases among them."""
    repeated = (len(FAULTS) + len(METADATA) + len(FREE_KIB) + 1) * RUNS
    runs = repeated + len(KILLED) * OPERATIONS + len(STILL_AT)

    with capsys.disabled():
        sys.stdout.write(f"\nfault matrix of the fix path: {runs} runs, apt's apart\n")
    assert (repeated, runs) == (140, 228)


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("kit")
    return make_kit(directory, pack(tmp_path_factory.mktemp("package")))


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    made = Table()
    yield made
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        made.show()


def make_machine(root: Path, kit: Path) -> Path:
    make_aks_node(fresh(root), VALID_CONFIG)
    hotfix = root / "etc/fairlead/hotfix"
    hotfix.mkdir(parents=True)
    shutil.copy(kit / "anchor.json", hotfix / "root.json")
    return root


def hurt(table: Table, fault: str, case: Case) -> Outcome:
    outcome = run_case(case)
    table.judge(fault, case, outcome)
    return outcome


@pytest.mark.parametrize("fault", QUICK)
def test_a_fault_of_the_service_never_stops_a_boot(
    tmp_path: Path, kit: Path, table: Table, fault: str
) -> None:
    changes, told = FAULTS[fault]
    root = make_machine(tmp_path / "machine", kit)
    case = Case(str(kit), str(root), decide_s=1.5, install_s=2.5, **changes)  # type: ignore[arg-type]

    assert told in str(hurt(table, fault, case).fact)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_the_service_ends_as_baked_or_fixed(
    tmp_path: Path, kit: Path, table: Table, fault: str
) -> None:
    changes, told = FAULTS[fault]
    for number in range(RUNS):
        root = make_machine(tmp_path / str(number), kit)
        case = Case(str(kit), str(root), **changes)  # type: ignore[arg-type]

        assert told in str(hurt(table, fault, case).fact)


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("fault", METADATA)
def test_a_metadata_service_that_gives_no_proof_never_stops_a_boot(
    tmp_path: Path, kit: Path, table: Table, fault: str
) -> None:
    for number in range(RUNS):
        root = make_machine(tmp_path / str(number), kit)
        case = Case(str(kit), str(root), decide_s=5, metadata=fault)
        outcome = in_namespaces(case, tmp_path, "ip address add 169.254.169.254/32 dev lo")
        table.judge(f"metadata service: {fault}", case, outcome)
        assert outcome.fact["checked"] == "failed"
        assert METADATA[fault] in outcome.causes["check-hotfix"]


@pytest.mark.slow
@pytest.mark.parametrize("how", KILLED)
def test_an_attempt_that_is_killed_at_any_operation_never_stops_a_boot(
    tmp_path: Path, kit: Path, table: Table, how: str
) -> None:
    for step in range(1, MOST_OPERATIONS):
        root = make_machine(tmp_path / "machine", kit)
        case = Case(str(kit), str(root), how=f"{how} {step}")
        outcome = hurt(table, f"fix path: {how}, at each operation", case)
        if "cause" not in outcome.fact:
            break
        assert "the fix path died: " in outcome.fact["cause"]
    assert outcome.fact["used"] == FIXED
    assert step > OPERATIONS


@pytest.mark.slow
@pytest.mark.parametrize("step", STILL_AT)
def test_an_attempt_that_stands_still_is_given_up_at_its_deadline(
    tmp_path: Path, kit: Path, table: Table, step: int
) -> None:
    root = make_machine(tmp_path / "machine", kit)
    case = Case(str(kit), str(root), how=f"stop {step}", decide_s=1, install_s=1)

    outcome = hurt(table, "fix path stands still", case)

    assert outcome.fact.get("cause", "gave up after 1 s").startswith("gave up after 1 s")


def in_namespaces(case: Case, directory: Path, prepare: str) -> Outcome:
    """Run a case in a network and a mount table of its own, after this line of shell."""
    file = directory / "case.json"
    file.write_text(json.dumps(asdict(case)))
    run = f"{prepare}\nexec {sys.executable} -m process.fix_fault_run {file}"
    ran = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-ec", f"ip link set lo up\n{run}"],
        cwd=REPOSITORY / "tests",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return Outcome(**json.loads(ran.stdout.splitlines()[-1]))


# Whatever is sent into it is gone.
BLACK_HOLE = (
    "ip link add hole type veth peer name bottom; ip address add 192.0.2.2/24 dev hole\n"
    "ip link set bottom up; ip link set hole up\n"
    "ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev hole nud permanent\n"
    "echo nameserver 192.0.2.1 > {file}; mount --bind {file} /etc/resolv.conf"
)


@pytest.mark.root
@pytest.mark.slow
def test_a_resolver_that_nobody_answers_costs_no_more_than_the_deadline(
    tmp_path: Path, kit: Path, table: Table
) -> None:
    prepare = BLACK_HOLE.format(file=tmp_path / "resolv.conf")
    for number in range(RUNS):
        root = make_machine(tmp_path / str(number), kit)
        case = Case(str(kit), str(root), name="service.example.test")
        outcome = in_namespaces(case, tmp_path, prepare)
        table.judge("service behind a DNS black hole", case, outcome)
        assert outcome.fact["cause"].startswith("gave up after 2 s: check-hotfix")


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("free_kib", FREE_KIB)
def test_a_disk_that_is_full_where_fixes_are_kept_never_stops_a_boot(
    tmp_path: Path, kit: Path, table: Table, free_kib: int
) -> None:
    """Logs are elsewhere: what a boot does without any room for them is another test's."""
    for number in range(RUNS):
        root = make_machine(tmp_path / str(number), kit)
        full = [root / "usr/lib/fairlead-node", root / "var/lib/fairlead"]
        lines = []
        for place in full:
            place.mkdir(parents=True)
            lines.append(f"mount -t tmpfs -o size=256k tmpfs {place}")
            filled = 256 - free_kib
            lines.append(f"dd if=/dev/zero of={place}/filler bs=1k count={filled} status=none || :")
        case = Case(str(kit), str(root))
        outcome = in_namespaces(case, tmp_path, "\n".join(lines))
        table.judge(f"disk with {free_kib} KiB left", case, outcome)
        assert "used" not in outcome.fact
        assert "No space left" in str(outcome.fact) + str(outcome.causes)
