"""
Containers that take fixes: a depot of the real publisher, the real service, real apt in the node.

Fixes are built by the publisher's own builder from a copy of this tree, changed as a case says, and
signed as every fix is: nothing but what is in them stops them.
"""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from builders import BUILT_IN_CONFIG
from conformance.machine_seeds import RECORD, seed_of, wait_until
from fairlead.agent.report.record import parse_record
from fairlead.answers.words import Fault
from fairlead.contract.boot_document import BootDocument
from fairlead.contract.boot_report import BootReport, parse_report
from fairlead.embedded.hotfix.image_files import DIRECTORY, image_files
from fairlead.embedded.machines.control_group import groups_of
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.machines.nspawn import NspawnMachines, container_name
from fairlead.embedded.machines.process import children_of, find_process
from fairlead.hotfix.catalog import State, promote
from fairlead.hotfix.publish.fix_package import Recipe, build_fix
from fairlead.hotfix.publish.publisher import change_catalog, withdraw
from fairlead.userdata.delivery import Fetch
from hotfix_depot import Publishing, make_publishing, moment
from process.tls_server import Server, answer, make_pair
from service.hotfix_service import HotfixProcess
from shared_cases import REPOSITORY

TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="  # of a service that lives for one test
STATUS = "var/log/fairlead/provision.json"

# Where this computer counts tasks, if a hierarchy of version 1 does: no node can do it then. A bomb
# that the agent does not end stays in its machine all the same, and it is seen.
TASKS = Path("/sys/fs/cgroup/pids")
MOST_TASKS = 1500

Change = Callable[[Path], None]


def no_change(_tree: Path) -> None:
    """A fix that mends nothing, and works."""


def build(directory: Path, version: str, change: Change = no_change) -> list[Path]:
    """Build the packages of a fix from a copy of this tree."""
    tree = directory / f"tree-{version}"
    without = shutil.ignore_patterns("__pycache__")
    for part in ("src/fairlead", "deploy/node"):
        shutil.copytree(REPOSITORY / part, tree / part, ignore=without)
    initial = tree / "src/fairlead/__init__.py"
    lines = initial.read_text().splitlines()
    before = f'__version__ = "{version.rpartition(".")[0]}.0"'
    kept = [before if line.startswith("__version__") else line for line in lines]
    initial.write_text("\n".join(kept) + "\n")
    change(tree)
    # Without this, rpmbuild refuses a program of a processor, which one of the cases is.
    (directory / ".rpmmacros").write_text("%_binaries_in_noarch_packages_terminate_build 0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(directory))
        packages = build_fix(Recipe(version=version, tree=tree), directory / f"build-{version}")
    shutil.rmtree(tree)
    return [path for path in packages if path.suffix == ".deb"]


@dataclass
class Machine:
    """A machine of one image."""

    name: str
    kind: NspawnMachines
    place: Path
    # What was seen of the control group of its fix path while there was one.
    groups_seen: set[str] = field(default_factory=set)


@dataclass
class Booted:
    """What a machine left of its last boot, and what it reported."""

    place: Path
    report: BootReport

    @property
    def root(self) -> Path:
        return self.place / "root"

    def reports(self) -> list[BootReport]:
        """Every agent that ran in the last boot."""
        boots = parse_record((self.root / RECORD).read_bytes())
        return [
            one for one in boots if one.facts["clock"]["boot"] == boots[-1].facts["clock"]["boot"]
        ]

    def provisioned_by(self) -> str:
        """The version of the agent whose built-in steps ran."""
        (by,) = {
            report.agent
            for report in self.reports()
            if any(stage.name == "provision/start-kubelet" for stage in report.stages)
        }
        return by

    @property
    def fact(self) -> dict[str, Any]:
        """What was reported of the fix; the record and the status say the same."""
        reported: dict[str, Any] = self.report.facts["hotfix"]
        (recorded,) = [one for one in self.reports() if one.run_id == self.report.run_id]
        assert recorded.facts["hotfix"] == reported
        return reported

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / STATUS).read_text())
        return found

    def took_ms(self, *stages: str) -> float:
        """How long these stages took together."""
        return sum(one.took_ms for one in self.report.stages if one.name in stages)

    def processes(self) -> list[tuple[str, str]]:
        """Every process of the machine: its control group and its command line."""
        name = container_name(self.place)
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                groups = (entry / "cgroup").read_text() if entry.name.isdigit() else ""
                if name in groups:
                    own = next(line for line in groups.splitlines() if name in line)
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    if words:  # else it has ended, and waits for its parent to take note
                        found.append((own, words.decode(errors="replace")))
        return found

    def left_of_the_attempt(self) -> list[str]:
        """Processes that a fix path started and did not end."""
        return [
            words
            for group, words in self.processes()
            if "fairlead-fix-" in group or "hotfix" in words
        ]


@dataclass
class FixedNodes:
    """A depot that is served, and machines that ask it."""

    directory: Path
    publishing: Publishing
    service: HotfixProcess
    plane: Server
    plane_ca: str
    patch: dict[str, int] = field(default_factory=dict)

    def next_version(self, base: str) -> str:
        """A version above every one before."""
        self.patch[base] = self.patch.get(base, 0) + 1
        return f"{base}.{self.patch[base]}"

    def publish(self, base: str, change: Change = no_change) -> str:
        """Build, sign and publish a fix for everyone; return its version."""
        version = self.next_version(base)
        self.offer(version, build(self.directory, version, change))
        return version

    def offer(self, version: str, packages: list[Path]) -> None:
        """Publish these packages for everyone."""
        offer(self.publishing, version, packages)

    def withdraw_all(self) -> None:
        """Revoke every fix that is on offer."""
        depot = self.publishing.depot
        for fix in depot.read_catalog().fixes:
            if fix.state is State.PUBLISHED:
                withdraw(depot, self.publishing.offline, fix.version, "it broke", moment())

    def image_files(self, **settings: object) -> dict[str, bytes]:
        """What an image is baked with."""
        return baked_files(self.directory, self.publishing, self.service, **settings)

    def seed(self, name: str, instance: str = "one") -> Seed:
        """What a machine boots from: a document that says where its config is."""
        plane = self.plane
        document = BootDocument(plane.endpoint, self.plane_ca, TOKEN, 60, plane.report)
        user_data = seed_of(Fetch(document), instance, None).user_data
        files = self.image_files()
        return Seed(hostname=name, instance=instance, user_data=user_data, image_files=files)

    def boot(self, *machines: Machine, instance: str = "one") -> list[Booted]:
        """Boot machines beside each other until each left its verdict and its report."""
        told = {one.name: len(self.reports_of(one)) for one in machines}
        for one in machines:
            one.kind.power_on(one.name, self.seed(one.name, instance), Fault.NONE)
            bound_tasks(one.place)
        # Every one is looked at each time: all of them are watched meanwhile.
        wait_until(lambda: False not in [is_up(one) for one in machines], "all are up")
        for one in machines:
            wait_until(lambda: len(self.reports_of(one)) > told[one.name], "a report", 20)  # noqa: B023
        return [Booted(one.place, self.reports_of(one)[-1]) for one in machines]

    def reports_of(self, machine: Machine) -> list[BootReport]:
        """The boot reports of a machine as they came here."""
        name = f"Fairlead-Machine: {machine.name}\r\n".encode()
        posts = [post.partition(b"\r\n\r\n") for post in self.plane.posts() if name in post]
        return [parse_report(body) for _, _, body in posts]


def baked_files(
    directory: Path, publishing: Publishing, service: HotfixProcess, **settings: object
) -> dict[str, bytes]:
    """What an image is baked with so that its machines ask this service and take its fixes."""
    address = f"https://127.0.0.1:{service.port}"
    ca = (directory / "certificates/authority.pem").read_text()
    asked = {"endpoint": f"{address}/v1/hotfix", "ca": ca, "attestation": "join", **settings}
    return {
        f"{DIRECTORY}/service.json": json.dumps(asked).encode(),
        **image_files(publishing.depot, address, ca),
    }


def offer(publishing: Publishing, version: str, packages: list[Path]) -> None:
    """Publish these packages for everyone."""
    assert publishing.publish(packages)
    change_catalog(publishing.depot, lambda one: promote(one, version, moment(), everyone=True))


def bound_tasks(place: Path) -> None:
    """Let nothing in this machine start more than so many tasks."""
    process = find_process(place)
    if process is None or not (TASKS / "cgroup.procs").exists():
        return
    group = TASKS / container_name(place)
    group.mkdir(exist_ok=True)
    (group / "pids.max").write_text(str(MOST_TASKS))
    for one in (process, *_children(process)):
        (group / "cgroup.procs").write_text(str(one))


def tasks_refused(place: Path) -> str:
    """How often the bound from outside had to refuse a task, in the kernel's words."""
    events = TASKS / container_name(place) / "pids.events"
    return events.read_text() if events.exists() else ""


def is_up(machine: Machine) -> bool:
    """Say whether its boot left a verdict; until then, look at the group of its fix path."""
    for top in groups_of(container_name(machine.place)):
        for made in top.glob("payload/system.slice/fairlead-node.service/fairlead-fix-*"):
            _note_groups(machine, made)
    return machine.kind.life_of(machine.name) is Life.UP


def _note_groups(machine: Machine, made: Path) -> None:
    with suppress(OSError):  # gone meanwhile
        agents = (made.with_name("fairlead-agent") / "cgroup.procs").read_text().split()
        apart = (made / "cgroup.procs").read_text().split()
        beside = made.parent.joinpath("cgroup.procs").read_text().split()
        if agents and apart and not beside:
            machine.groups_seen.add("divided")
        if (made / "cgroup.kill").exists():
            machine.groups_seen.add("can be killed at once")


def _children(process: int) -> list[int]:
    with suppress(OSError):
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
        return [int(word) for word in text.split()]
    return []


def unbound_tasks(place: Path) -> None:
    """Take the bound away, after the machine's end."""
    group = TASKS / container_name(place)
    if group.is_dir():
        wait_until(lambda: _is_removed(group), f"the end of {group}")


def _is_removed(path: Path) -> bool:
    with suppress(OSError):
        path.rmdir()
    return not path.is_dir()


@contextmanager
def machines_of(directory: Path, *images: tuple[str, tuple[Path, ...]]) -> Iterator[list[Machine]]:
    """One machine of each image, by its name; none of them is left after."""
    kinds = [(name, NspawnMachines(directory / name, layers)) for name, layers in images]
    machines = [Machine(name, kind, directory / name / name) for name, kind in kinds]
    try:
        yield machines
    finally:
        for one in machines:
            cut_power(one)
            one.kind.destroy(one.name)
            unbound_tasks(one.place)


def cut_power(machine: Machine) -> None:
    """Afterwards nothing of the machine runs; what it wrote stays."""
    process = find_process(machine.place)
    for first in children_of(process) if process is not None else []:
        os.kill(first, signal.SIGKILL)
    wait_until(lambda: find_process(machine.place) is None, "the machine's end")


@contextmanager
def fixed_nodes(directory: Path) -> Iterator[FixedNodes]:
    """A depot, its service, and the control plane that machines fetch their config from."""
    publishing = make_publishing(directory)
    pair = make_pair(directory, "plane", "IP:127.0.0.1")
    service = HotfixProcess(directory, publishing.depot, 1, "--insecure-lab")
    config = json.dumps(BUILT_IN_CONFIG).encode()
    try:
        with Server(pair, [answer(200, config)]) as plane:
            ca = (directory / "plane-ca.pem").read_text()
            yield FixedNodes(directory, publishing, service, plane, ca)
    finally:
        service.stop()
        service.kill()
