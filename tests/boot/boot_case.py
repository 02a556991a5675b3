"""
A boot case: a folder that says what a machine is given, and what must hold after its boot.

given/case.json names the image, how user data arrives and what else is special; given/root is
laid over the image. expect/outcome.json holds what must be true. See tests/boot/README.md.
"""

import gzip
import json
import os
import shutil
import stat
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boot.cloud import make_cloud
from boot.drives import attach_drive
from boot.node import Node, make_node, start_node, stop_node
from boot.roots import agent_layer, base_root
from fairlead.agent.report.record import parse_record
from fairlead.contract.boot_report import BootReport
from fairlead.contract.node_paths import document_path
from fairlead.userdata.delivery import Inline
from fairlead.userdata.render import Target, render_user_data

CASES = Path(__file__).parent / "cases"
IMAGES = Path(__file__).parent / "images"

STATE = "/var/lib/boot-test"
COLLECTED = f"{STATE}/collected"

INSTANCE = "instance-id: i-boot-test\nlocal-hostname: node\n"

# The first keeps user data out of the agent's sight: only cloud-init knows where it is.
ELSEWHERE = "srv/seed"
SEED_DIRECTORIES = {
    "elsewhere": (ELSEWHERE, "user-data"),
    "directory": ("var/lib/cloud/seed/nocloud", "user-data"),
    "directory-net": ("var/lib/cloud/seed/nocloud-net", "user-data"),
    "config-drive-seed": ("var/lib/cloud/seed/config_drive/openstack/latest", "user_data"),
    "azure-seed": ("var/lib/cloud/seed/azure", "ovf-env.xml"),
}
SEED_FROM = "datasource:\n  NoCloud:\n    seedfrom: {}\n"

AGENT = "fairlead-node.service"
# cloud-init 22.4's name, and 25.1's.
NETWORK_STAGE = ("cloud-init.service", "cloud-init-network.service")

RECORDS = {
    "aks": "/var/log/azure/aks-node-controller-record.jsonl",
    "plain": "/var/log/fairlead/record.jsonl",
}
LAYOUT_OF_IMAGE = {"aks": "aks", "plain": "fairlead"}

OVF = """\
<?xml version="1.0" encoding="utf-8"?>
<ns0:Environment xmlns:ns0="http://schemas.dmtf.org/ovf/environment/1" \
xmlns:ns1="http://schemas.microsoft.com/windowsazure">
  <ns1:ProvisioningSection><ns1:Version>1.0</ns1:Version>
    <ns1:LinuxProvisioningConfigurationSet>
      <ns1:HostName>node</ns1:HostName>
      <ns1:CustomData>{custom_data}</ns1:CustomData>
    </ns1:LinuxProvisioningConfigurationSet>
  </ns1:ProvisioningSection>
</ns0:Environment>
"""


@dataclass
class BootCase:
    """What a case folder says. Field by field: tests/boot/README.md."""

    name: str
    folder: Path
    image: str = "aks"
    seed: str = "elsewhere"
    render: str = ""
    wrap: list[str] = field(default_factory=list)
    credentials: dict[str, str] = field(default_factory=dict)
    ordering: str = "debian"
    until: str = COLLECTED
    boots: int = 1
    nspawn: list[str] = field(default_factory=list)

    @property
    def layout(self) -> str:
        """The paths of the agent in this image."""
        return LAYOUT_OF_IMAGE[self.image]

    def node_config(self) -> bytes:
        """Return the node config that user data is rendered from."""
        own = self.folder / "given" / "node-config.json"
        return (own if own.exists() else IMAGES / f"{self.image}.json").read_bytes()

    def user_data(self) -> bytes:
        """Return the user data: rendered as a user would, or as it lies in the folder."""
        if self.render == "config":
            data = self.node_config()
        elif self.render:
            target = Target(self.render, layout=self.layout)
            data = render_user_data(Inline(self.node_config()), target)
        else:
            data = (self.folder / "given" / "user-data").read_bytes()
        for wrapping in self.wrap:
            data = gzip.compress(data, mtime=0) if wrapping == "gzip" else b64encode(data)
        return data


@dataclass
class BootResult:
    """What a boot was like, as the node itself tells."""

    state: str
    runs: int
    records: list[BootReport]
    units: dict[str, dict[str, str]]
    failed: list[str]
    journal: str
    node: Node

    def since_start_ms(self, unit: str, stamp: str) -> float:
        """Return a unit's time stamp in ms after PID 1 began; 0 if it never happened."""
        return _milliseconds(self.units, unit, stamp)

    def line(self) -> str:
        """Return which line started the agent: the floor, the middle (hook or path), the last."""
        start = self.since_start_ms(AGENT, "ExecMainStart")
        stages = [self.since_start_ms(unit, "InactiveExit") for unit in NETWORK_STAGE]
        last = self.since_start_ms("fairlead-node-check.service", "InactiveExit")
        if not start:
            return ""
        if start < min((stage for stage in stages if stage), default=start + 1):
            return "floor"
        return "last" if last and start > last else "middle"

    def agent_runs(self) -> int:
        """Return how often the agent began to boot the node, as its record says."""
        stages = [[stage.name for stage in record.stages] for record in self.records]
        return sum("find-document" in names for names in stages)

    def restarts(self) -> int:
        """Return how often systemd started a dead agent again."""
        return int(self.units.get(AGENT, {}).get("NRestarts") or 0)

    def place(self) -> str:
        """Return where the agent found its document, as its record says."""
        stages = [stage for record in self.records for stage in record.stages]
        causes = [stage.cause for stage in stages if stage.name == "find-document"]
        return causes[-1].rpartition(",")[0] if causes else ""


def load_case(folder: Path) -> BootCase:
    """Return the case in this folder."""
    fields: dict[str, Any] = json.loads((folder / "given" / "case.json").read_text())
    return BootCase(name=folder.name, folder=folder, **fields)


def load_outcome(folder: Path) -> dict[str, Any]:
    """Return what the case expects."""
    outcome: dict[str, Any] = json.loads((folder / "expect" / "outcome.json").read_text())
    return outcome


@contextmanager
def booted(case: BootCase, suite: str) -> Iterator[BootResult]:
    """Boot the case's machine, as often as it says, and yield how the last boot went."""
    with ExitStack() as stack:
        node = stack.enter_context(make_node(agent_layer(suite), base_root(suite)))
        options = [*case.nspawn, *prepare(case, node, stack)]
        network = join_cloud(case, node, stack) if case.seed == "http" else ""
        for number in range(case.boots):
            if number:
                stop_node(node)
                (node.root / COLLECTED.lstrip("/")).unlink()
            start_node(node, network=network, options=tuple(options))
            node.wait_for(case.until)
        if case.until != COLLECTED:
            settle(node)
        yield read_result(case, node)


def prepare(case: BootCase, node: Node, stack: ExitStack) -> list[str]:
    """Lay image, case and user data over the root; return the options of nspawn that it takes."""
    for source in (IMAGES / "any", IMAGES / case.image, case.folder / "given" / "root"):
        if source.is_dir():
            shutil.copytree(source, node.root, symlinks=True, dirs_exist_ok=True)
    # git keeps no mode but the execute bit.
    for baked in node.root.glob("opt/azure/containers/*.json"):
        baked.chmod(0o600)
    enable(node.root, "multi-user.target", "boot-test-collector.service")
    if case.ordering == "rpm":
        use_rpm_ordering(node.root)
    options = []
    for name, source_name in case.credentials.items():
        file = node.directory / name
        file.write_bytes(case.node_config() if source_name == "config" else case.user_data())
        options.append(f"--load-credential={name}:{file}")
    if case.seed in SEED_DIRECTORIES:
        put_seed(case, node.root)
    elif case.seed not in ("none", "http"):
        options += attach_drive(case.seed, drive_files(case), node.directory, stack)
    return options


def join_cloud(case: BootCase, node: Node, stack: ExitStack) -> str:
    """Return the node's network in a cloud of its own, which serves its user data."""
    cloud = stack.enter_context(make_cloud())
    files = {"user-data": case.user_data(), "meta-data": INSTANCE.encode()}
    cloud.tell(node.name, files)
    settings = SEED_FROM.format(cloud.seed_url(node.name)) + "network: {config: disabled}\n"
    (node.root / "etc/cloud/cloud.cfg.d/98-seed.cfg").write_text(settings)
    return cloud.attach(node.name)


def put_seed(case: BootCase, root: Path) -> None:
    """Write user data where this seed has it, and metadata where cloud-init reads it."""
    directory, name = SEED_DIRECTORIES[case.seed]
    (root / directory).mkdir(parents=True, exist_ok=True)
    (root / directory / name).write_bytes(seed_text(case, name))
    # Not every seed is one that this cloud-init may read (see DATA_SOURCES): it has an empty one.
    if "nocloud" not in directory:
        is_elsewhere = case.seed == "elsewhere"
        directory = ELSEWHERE
        (root / directory).mkdir(parents=True, exist_ok=True)
        if not is_elsewhere:
            (root / directory / "user-data").write_text("#cloud-config\n{}\n")
        (root / "etc/cloud/cloud.cfg.d/98-seed.cfg").write_text(
            SEED_FROM.format("file:///srv/seed/")
        )
    (root / directory / "meta-data").write_text(INSTANCE)


def seed_text(case: BootCase, name: str) -> bytes:
    """Return what the seed file of this name holds."""
    data = case.user_data()
    return OVF.format(custom_data=b64encode(data).decode()).encode() if "ovf" in name else data


def drive_files(case: BootCase) -> dict[str, bytes]:
    """Return the files of a drive."""
    if case.seed.startswith("azure"):
        return {"ovf-env.xml": seed_text(case, "ovf-env.xml")}
    if case.seed.startswith("config-2"):
        return {"openstack/latest/user_data": case.user_data()}
    return {"user-data": case.user_data(), "meta-data": INSTANCE.encode()}


def enable(root: Path, target: str, unit: str) -> None:
    """Make the target want the unit."""
    wants = root / "etc/systemd/system" / f"{target}.wants"
    wants.mkdir(parents=True, exist_ok=True)
    (wants / unit).symlink_to(f"/usr/lib/systemd/system/{unit}")


# RPM distributions do not run cloud-init's network stage before sysinit.target.
EARLY_LINES = ("DefaultDependencies=no", "Before=sysinit.target", "Before=basic.target")


def use_rpm_ordering(root: Path) -> None:
    """Order cloud-init's network stage as RPM distributions do."""
    for name in ("cloud-init.service", "cloud-init-network.service"):
        unit = root / "usr/lib/systemd/system" / name
        if unit.is_file() and not unit.is_symlink():
            lines = [line for line in unit.read_text().splitlines() if line not in EARLY_LINES]
            (root / "etc/systemd/system" / name).write_text("\n".join(lines) + "\n")


def settle(node: Node, still_s: float = 1.5) -> None:
    """Wait long enough to see a second run, where the end of the boot is not waited for."""
    time.sleep(still_s)
    node.enter("systemctl", "--no-block", "start", "boot-test-collector.service")


def read_result(case: BootCase, node: Node) -> BootResult:
    """Return what the node left behind."""
    units = {
        properties["Id"]: properties
        for block in node.read(f"{STATE}/units").split("\n\n")
        if (properties := _properties(block))
    }
    units["manager"] = _properties(node.read(f"{STATE}/manager"))
    return BootResult(
        state=node.read(f"{STATE}/state").strip(),
        runs=len(node.read(f"{STATE}/runs").splitlines()),
        records=parse_record(node.read(RECORDS[case.image]).encode()),
        units=units,
        failed=[line.split()[0] for line in node.read(f"{STATE}/failed").splitlines()],
        journal=node.read(f"{STATE}/journal"),
        node=node,
    )


def config_on(case: BootCase, node: Node) -> tuple[bytes, str]:
    """Return the node config on the node's disk and its mode, as in '0600'."""
    path = node.root / document_path("node_config", case.layout).lstrip("/")
    return path.read_bytes(), f"{stat.S_IMODE(os.stat(path).st_mode):04o}"  # noqa: PTH116


def _properties(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.strip().splitlines())
    return {name: value for name, _, value in pairs}


def _milliseconds(units: dict[str, dict[str, str]], unit: str, stamp: str) -> float:
    began = int(units["manager"].get("UserspaceTimestampMonotonic") or 0)
    at = int(units.get(unit, {}).get(f"{stamp}TimestampMonotonic") or 0)
    return (at - began) / 1000 if at else 0.0
