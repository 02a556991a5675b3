"""
A fix path whose apt is hurt in every way, in a root with the real apt: provisioned, and in time.

The whole boot of the agent runs in the root, with a signed service and a signed package source on
the loopback of a network of its own. There is no systemd in it: tests/boot/test_faults.py has that.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from boot.node import Node, make_node, missing_tools
from boot.roots import base_root
from boot.test_apt_fix import run, sign
from builders import VALID_CONFIG
from process.agent_process import make_aks_node
from process.fault_table import Table
from process.fix_fault_run import Case, Outcome
from process.fix_kit import FIXED, make_kit
from process.test_fix_faults import BLACK_HOLE
from process.test_fix_path import pack
from shared_cases import REPOSITORY

pytestmark = [pytest.mark.root, pytest.mark.slow]

RUNS = 3
PACKAGE = f"fairlead-node-hotfix_{FIXED}_all.deb"
LOCK = (
    "import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); "
    "fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(60)"
)


def dated(release: Path, at: datetime, until: datetime) -> None:
    """Give the unsigned index another day, and an end."""
    lines = [line for line in release.read_text().splitlines() if not line.startswith("Date:")]
    form = "%a, %d %b %Y %H:%M:%S UTC"
    lines[:0] = [f"Date: {at.strftime(form)}", f"Valid-Until: {until.strftime(form)}"]
    release.write_text("\n".join(lines) + "\n")


def sign_again(repository: Path, home: Path) -> None:
    words: list[str | Path] = ["gpg", "--homedir", home, "--batch", "--yes", "--quiet"]
    words += ["--pinentry-mode=loopback"]
    words += ["--passphrase=", "--clearsign", "--output", repository / "InRelease"]
    run(*words, repository / "Release")
    run("gpgconf", "--homedir", home, "--kill", "all")


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = missing_tools("apt-ftparchive", "gpg", "dpkg-deb")
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    directory = tmp_path_factory.mktemp("kit")
    package = pack(tmp_path_factory.mktemp("package"))
    make_kit(directory, package)
    home, now = tmp_path_factory.mktemp("gpg"), datetime.now(UTC)
    home.chmod(0o700)
    for name in ("good", "ahead", "expired", "stranger"):
        pool = directory / "repositories" / name / "pool"
        pool.mkdir(parents=True)
        (pool / PACKAGE).write_bytes(package)
        own = tmp_path_factory.mktemp("other-gpg") if name == "stranger" else home
        key = sign(pool.parent, own)
        if name == "good":
            (directory / "repository.gpg").write_bytes(key)
    for name, days in (("ahead", 3), ("expired", -10)):
        at = now + timedelta(days=days)
        dated(directory / "repositories" / name / "Release", at, at + timedelta(days=7))
        sign_again(directory / "repositories" / name, home)
    return directory


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    made = Table()
    yield made
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        made.show()


def prepare(node: Node, kit: Path) -> Path:
    root = node.root
    made = make_aks_node(node.directory / "image", VALID_CONFIG)
    shutil.copytree(made / "opt", root / "opt", dirs_exist_ok=True)
    hotfix = root / "etc/fairlead/hotfix"
    hotfix.mkdir(parents=True)
    shutil.copy(kit / "anchor.json", hotfix / "root.json")
    shutil.copy(kit / "repository.gpg", hotfix)
    # The root lies in memory: waiting for the disks of this computer would measure its neighbours.
    (root / "etc/dpkg/dpkg.cfg.d/unsafe").write_text("force-unsafe-io\n")
    ignored = shutil.ignore_patterns("*.pyc")
    shutil.copytree(REPOSITORY / "src", root / "srv/src", ignore=ignored)
    return root


def boot(case: Case, node: Node, before: str) -> Outcome:
    """Boot the root in namespaces of its own, after these lines of shell."""
    file = node.directory / "case.json"
    file.write_text(json.dumps(asdict(case)))
    script = (
        f"ip link set lo up; cd {node.root}; mount -t proc proc proc\n{before}\n"
        f"cd {REPOSITORY / 'tests'}; exec {sys.executable} -m process.fix_fault_run {file}"
    )
    # A process space of its own: whoever holds a lock for a case goes with it.
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-ec", script]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return Outcome(**json.loads(ran.stdout.splitlines()[-1]))


def hurt(table: Table, fault: str, kit: Path, before: str, **changes: str | float) -> Outcome:
    with make_node(base_root("bookworm")) as node:
        root = prepare(node, kit)
        fields: dict[str, str | float] = {"repository": "good", "install_s": 6.0, **changes}
        case = Case(str(kit), str(root), **fields)  # type: ignore[arg-type]
        outcome = boot(case, node, before.format(file=node.directory / "resolv.conf"))
        table.judge(f"apt: {fault}", case, outcome)
    return outcome


SOURCES = {
    "nothing": ("good", "'used'"),
    "refused": ("refused", "apt-get failed"),
    "hangs": ("hang", "apt-get"),
    "drip-feeds": ("drip", "apt-get did not end within"),
    "says 503": ("503", "apt-get failed"),
    "index expired": ("expired", "is expired"),
    "index of another key": ("stranger", "NO_PUBKEY"),
    "clock three days behind": ("ahead", "is not valid yet"),
}


@pytest.mark.parametrize("fault", SOURCES)
def test_a_package_source_that_fails_never_stops_a_boot(
    kit: Path, table: Table, fault: str
) -> None:
    repository, told = SOURCES[fault]
    for _ in range(RUNS):
        assert told in str(hurt(table, fault, kit, "", repository=repository).fact)


FILL = "mkdir -p {0}; mount -t tmpfs -o size=64k tmpfs {0}; dd if=/dev/zero of={0}/fill || :"
STATES = {
    "locked package manager": (f'chroot . python3 -c "{LOCK}" & sleep 0.3', "lock"),
    "interrupted dpkg": ("cp {package} tmp/x.deb; chroot . dpkg --unpack /tmp/x.deb", "'used'"),
    "full disk for packages": (FILL.format("var/lib/fairlead"), ""),
    "full disk for lists": (FILL.format("var/lib/apt/lists"), ""),
    "full disk for the program": (FILL.format("usr/lib/fairlead-node"), ""),
    "source behind a DNS black hole": (BLACK_HOLE, "apt-get"),
}


@pytest.mark.parametrize("fault", STATES)
def test_a_machine_in_a_bad_state_is_provisioned_in_time(
    kit: Path, table: Table, fault: str
) -> None:
    before, told = STATES[fault]
    before = before.replace("{package}", str(kit / "package.deb"))
    repository = "no-names" if "DNS" in fault else "good"
    if "DNS" in fault:
        before += "; mount --bind {file} etc/resolv.conf || cp {file} etc/resolv.conf"
    for _ in range(RUNS):
        outcome = hurt(table, fault, kit, before, repository=repository)
        assert told in str(outcome.fact)
        assert fault == "interrupted dpkg" or "used" not in outcome.fact


# Every operation takes minutes: FAIRLEAD_EVERY_OPERATION=1 tries all, else every so many.
APART = 1 if os.environ.get("FAIRLEAD_EVERY_OPERATION") else 9
FIRST = {"kill": 1, "late-40": 5}


@pytest.mark.parametrize("how", FIRST)
def test_an_apt_that_is_killed_at_any_operation_leaves_a_machine_that_boots(
    kit: Path, table: Table, how: str
) -> None:
    for step in range(min(FIRST[how], APART), 200, APART):
        outcome = hurt(table, f"{how}, at each operation", kit, "", how=f"{how} {step}")
        if "cause" not in outcome.fact:
            break
        assert "the fix path died: " in outcome.fact["cause"]
    assert outcome.fact["used"] == FIXED
    assert step > 40
