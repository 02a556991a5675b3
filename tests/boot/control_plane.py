"""
A control plane inside a cloud's network namespace: a certificate of its own, a token per node.

What the process does is in control_plane_server.py; here is what a test says to it and reads back.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from boot.cloud import METADATA_ADDRESS, READY_DEADLINE_S, Cloud
from fairlead.contract.boot_document import BootDocument

SERVER = Path(__file__).parent / "control_plane_server.py"
ENDPOINT = f"https://{METADATA_ADDRESS}/v1/node-config"
REPORTS = f"https://{METADATA_ADDRESS}/v1/boot-report"
NAME = "control-plane.example.test"
CONTROL_PLANE_TOOLS = ("openssl", "nsenter")

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


class ControlPlane:
    """A running control plane."""

    def __init__(self, directory: Path, ca: str) -> None:
        self.directory = directory
        self.ca = ca

    def admit(self, name: str, config: bytes) -> str:
        """Return the token of a node; whoever shows it gets this config."""
        token = sha256(f"{self.directory} {name}".encode()).hexdigest()
        (self.directory / "tokens" / token).write_text(name)
        (self.directory / "configs" / name).write_bytes(config)
        return token

    def break_for(self, name: str, fault: dict[str, object]) -> None:
        """Answer this node with a fault; which ones there are: control_plane_server."""
        (self.directory / "faults" / name).write_text(json.dumps(fault))

    def document(self, token: str, *, endpoint: str = ENDPOINT, deadline_s: float) -> BootDocument:
        """Return the stub of a node: where it asks, whom it trusts, for how long it tries."""
        return BootDocument(endpoint, self.ca, token, deadline_s)

    def reports(self) -> dict[str, list[bytes]]:
        """Return what each node reported, in the order of arrival."""
        found: dict[str, list[bytes]] = {}
        for path in sorted((self.directory / "reports").iterdir()):
            found.setdefault(path.name.split(".")[0], []).append(path.read_bytes())
        return found

    def asked(self) -> list[dict[str, Any]]:
        """Return every answer so far: us (monotonic), node, request, status."""
        log = self.directory / "asked.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@contextmanager
def make_control_plane(cloud: Cloud) -> Iterator[ControlPlane]:
    """Yield a control plane on the cloud's own address; it goes before the cloud does."""
    directory = cloud.directory / "control-plane"
    for name in ("tokens", "configs", "faults", "reports"):
        (directory / name).mkdir(parents=True)
    (cloud.directory / "addresses").mkdir(exist_ok=True)
    (directory / "addresses").symlink_to("../addresses")
    plane = ControlPlane(directory, make_certificate(directory))
    inside = ["nsenter", f"--net=/run/netns/{cloud.name}", sys.executable, "-I", str(SERVER)]
    server = subprocess.Popen([*inside, str(directory), METADATA_ADDRESS])
    try:
        end = time.monotonic() + READY_DEADLINE_S
        while not (directory / "ready").exists():
            if server.poll() is not None or time.monotonic() > end:
                raise TimeoutError("the control plane did not start")
            time.sleep(0.02)
        yield plane
    finally:
        server.kill()
        server.wait()


def make_certificate(directory: Path) -> str:
    """Leave server.pem in the directory; return the CA that vouches for it."""
    ca, ca_key, leaf, leaf_key = (
        directory / name for name in ("ca.pem", "ca.key", "leaf.pem", "leaf.key")
    )
    names = f"subjectAltName=IP:{METADATA_ADDRESS},IP:127.0.0.1,DNS:{NAME}"
    _openssl(*_KEY, "-subj", "/CN=boot test CA", "-keyout", str(ca_key), "-out", str(ca))
    _openssl(
        *(*_KEY, "-subj", "/CN=control plane", "-keyout", str(leaf_key), "-out", str(leaf)),
        *("-CA", str(ca), "-CAkey", str(ca_key), "-addext", names),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
    )
    (directory / "server.pem").write_bytes(leaf.read_bytes() + leaf_key.read_bytes())
    return ca.read_text()


def _openssl(*words: str) -> None:
    subprocess.run(["openssl", "req", "-x509", *words], check=True, capture_output=True)
