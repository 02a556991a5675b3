"""
A cloud: a network namespace with a bridge, the metadata address and nothing else.

Nodes hang off the bridge by one virtual cable each. No interface of this machine is in it and no
route leads out of it, so a node can ask 169.254.169.254 and reach nobody else.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boot.node import PREFIX, NotIsolatedError

METADATA_ADDRESS = "169.254.169.254"
SERVER = Path(__file__).parent / "metadata_server.py"
READY_DEADLINE_S = 20.0

# A namespace goes away some time after it is deleted, and its cables with it: no name comes twice.
_numbers = itertools.count(1)


class Cloud:
    """A running cloud."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self._attached = 0

    def seed_url(self, node_name: str) -> str:
        """Return where cloud-init finds a node's seed: a `seedfrom` of NoCloud."""
        return f"http://{METADATA_ADDRESS}/seed/{node_name}/"

    def tell(self, node_name: str, files: dict[str, bytes]) -> None:
        """Serve these files (user-data, meta-data) to the node."""
        directory = self.directory / "nodes" / node_name
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (directory / name).write_bytes(content)

    def break_for(self, node_name: str, fault: dict[str, object] | None) -> None:
        """From now on answer this node with a fault (see metadata_server), or with None again."""
        file = self.directory / "faults" / node_name
        file.parent.mkdir(exist_ok=True)
        if fault is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(json.dumps(fault))

    def attach(self, node_name: str) -> str:
        """Return the network namespace of a node: one cable into the bridge, one address."""
        self._attached += 1
        number = next(_numbers)
        cable = f"flb{os.getpid() % 46656:x}n{number:x}"
        address = f"169.254.{10 + self._attached // 200}.{1 + self._attached % 200}"
        _ip("netns", "add", node_name)
        _ip("-n", self.name, "link", "add", cable, "type", "veth", "peer", f"{cable}p")
        _ip("-n", self.name, "link", "set", f"{cable}p", "netns", node_name)
        _ip("-n", self.name, "link", "set", cable, "master", "bridge", "up")
        _ip("-n", node_name, "address", "add", f"{address}/16", "dev", f"{cable}p")
        for device in ("lo", f"{cable}p"):
            _ip("-n", node_name, "link", "set", device, "up")
        known = self.directory / "addresses" / address
        known.parent.mkdir(exist_ok=True)
        known.write_text(node_name)
        return node_name

    def requests(self) -> list[dict[str, Any]]:
        """Return every request so far: us (monotonic), node, request, and body if it had one."""
        log = self.directory / "requests.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line) for line in lines]


@contextmanager
def make_cloud() -> Iterator[Cloud]:
    """Yield a cloud with its metadata service running; nothing of it is left after."""
    name = f"{PREFIX}-{os.getpid()}-cloud{next(_numbers)}"
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}-cloud-") as scratch:
        cloud = Cloud(name, Path(scratch))
        server: subprocess.Popen[bytes] | None = None
        try:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "add", "bridge", "type", "bridge")
            _ip("-n", name, "address", "add", f"{METADATA_ADDRESS}/16", "dev", "bridge")
            for device in ("lo", "bridge"):
                _ip("-n", name, "link", "set", device, "up")
            _refuse_uplink(name)
            inside = ["nsenter", f"--net=/run/netns/{name}", sys.executable, "-I", str(SERVER)]
            server = subprocess.Popen([*inside, scratch, METADATA_ADDRESS])
            _wait_until_ready(cloud, server)
            yield cloud
        finally:
            if server is not None:
                server.kill()
                server.wait()
            if (Path("/run/netns") / name).exists():
                _ip("netns", "delete", name)


def _wait_until_ready(cloud: Cloud, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + READY_DEADLINE_S
    while not (cloud.directory / "ready").exists():
        if server.poll() is not None or time.monotonic() > end:
            raise TimeoutError("the metadata service did not start")
        time.sleep(0.02)


def _refuse_uplink(name: str) -> None:
    devices = {link["ifname"] for link in json.loads(_ip("-n", name, "-json", "link", "show"))}
    if not devices <= {"lo", "bridge"}:
        raise NotIsolatedError(f"the cloud has interfaces that are not ours: {sorted(devices)}")
    if _ip("-n", name, "route", "show", "default"):
        raise NotIsolatedError("the cloud has a default route")


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout
