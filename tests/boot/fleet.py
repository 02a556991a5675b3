"""
Many nodes at once: each asks the metadata service for its user data, fetches its node config from
the control plane with a token of its own, and reports its boot back.

The nodes share one base root and one cloud; each has its own layer, control group and network
namespace. Two cores boot about one node per second, so a fleet of 30 takes about 30 s.
"""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boot.boot_case import IMAGES, INSTANCE, SEED_FROM, STATE, enable
from boot.cloud import Cloud, make_cloud
from boot.control_plane import REPORTS, ControlPlane, make_control_plane
from boot.node import CGROUPS, Node, make_node, start_node, stop_node
from boot.roots import agent_layer, base_root
from fairlead.userdata.delivery import Fetch
from fairlead.userdata.render import Target, render_user_data

INOTIFY_LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
# A booting node holds about ten; with the default of 128 a fleet of 30 loses nodes.
INOTIFY_PER_NODE = 64

# Ten times what an idle machine takes.
SECONDS_PER_NODE = 10.0
LEAST_DEADLINE_S = 60.0
FETCH_DEADLINE_S = 120.0

CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0"}'

REPORT_SETTINGS = """\
url = "{url}"
cacert = "/etc/boot-test/ca.pem"
header = "Authorization: Bearer {token}"
"""


@dataclass(frozen=True)
class FleetBoot:
    """A fleet whose nodes have all reported, or whose deadline is over."""

    nodes: list[Node]
    plane: ControlPlane
    cloud: Cloud
    started_us: int
    prepared_s: float

    def reports(self) -> dict[str, list[bytes]]:
        """Return what each node reported."""
        return self.plane.reports()

    def runs(self) -> dict[str, int]:
        """Return how often each node was provisioned, as the node's own disk says."""
        return {node.name: len(node.read(f"{STATE}/runs").splitlines()) for node in self.nodes}

    def requests(self, request: str) -> dict[str, int]:
        """Return how often each node was answered with 200 to this request."""
        asked = [
            line
            for line in self.plane.asked()
            if (line["request"], line["status"]) == (request, 200)
        ]
        return {node.name: sum(line["node"] == node.name for line in asked) for node in self.nodes}

    def reported_s(self) -> list[float]:
        """Return when each report came, in seconds after the first node was started."""
        return sorted(
            (line["us"] - self.started_us) / 1e6
            for line in self.plane.asked()
            if line["request"].startswith("POST")
        )

    def cpu_s(self) -> list[float]:
        """Return the processor time of each node so far, container set-up included."""
        return [_cpu_seconds(node.name) for node in self.nodes]


@contextmanager
def booted_fleet(size: int, suite: str) -> Iterator[FleetBoot]:
    """Boot so many nodes at once and yield when all have reported; nothing is left after."""
    began = time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(many_inotify_instances(size))
        cloud = stack.enter_context(make_cloud())
        plane = stack.enter_context(make_control_plane(cloud))
        nodes = [
            stack.enter_context(make_node(agent_layer(suite), base_root(suite)))
            for _ in range(size)
        ]
        # All at once: one after the other costs 50 ms each.
        stack.callback(_each, stop_node, nodes)
        for node in nodes:
            prepare_fleet_node(node, cloud, plane)
        prepared_s = time.monotonic() - began
        started_us = time.monotonic_ns() // 1000
        _each(lambda node: start_node(node, network=node.name), nodes)
        wait_for_reports(plane, size)
        yield FleetBoot(nodes, plane, cloud, started_us, prepared_s)


def prepare_fleet_node(node: Node, cloud: Cloud, plane: ControlPlane) -> None:
    """Lay the image over the root; user data, config and token wait in the cloud."""
    for image in ("aks", "fleet"):
        shutil.copytree(IMAGES / image, node.root, symlinks=True, dirs_exist_ok=True)
    enable(node.root, "multi-user.target", "fleet-report.service")
    token = plane.admit(node.name, CONFIG)
    stub = plane.document(token, deadline_s=FETCH_DEADLINE_S)
    user_data = render_user_data(Fetch(stub), Target("boothook", layout="aks"))
    cloud.tell(node.name, {"user-data": user_data, "meta-data": INSTANCE.encode()})
    settings = SEED_FROM.format(cloud.seed_url(node.name)) + "network: {config: disabled}\n"
    (node.root / "etc/cloud/cloud.cfg.d/98-seed.cfg").write_text(settings)
    private = node.root / "etc/boot-test"
    private.mkdir()
    (private / "ca.pem").write_text(plane.ca)
    (private / "report.curl").write_text(REPORT_SETTINGS.format(url=REPORTS, token=token))
    cloud.attach(node.name)


def wait_for_reports(plane: ControlPlane, size: int) -> None:
    """Return when so many nodes have reported, or nobody can be expected to any more."""
    end = time.monotonic() + max(LEAST_DEADLINE_S, size * SECONDS_PER_NODE)
    reports = plane.directory / "reports"
    while len(list(reports.iterdir())) < size and time.monotonic() < end:
        time.sleep(0.1)


@contextmanager
def many_inotify_instances(size: int) -> Iterator[None]:
    """Let this machine's root user have enough of them, and no more afterwards than before."""
    before = INOTIFY_LIMIT.read_text()
    needed = max(int(before), (size + 1) * INOTIFY_PER_NODE)
    INOTIFY_LIMIT.write_text(str(needed))
    try:
        yield
    finally:
        INOTIFY_LIMIT.write_text(before)


def _each(action: Any, nodes: list[Node]) -> None:
    with ThreadPoolExecutor(len(nodes)) as threads:
        for done in [threads.submit(action, node) for node in nodes]:
            done.result()


def _cpu_seconds(name: str) -> float:
    """Every cgroup of the second version counts processor time, with or without controllers."""
    places = (CGROUPS / part / name / "cpu.stat" for part in ("unified", "."))
    text = next(place.read_text() for place in places if place.exists())
    (line,) = [line for line in text.splitlines() if line.startswith("usage_usec")]
    return int(line.split()[1]) / 1e6
