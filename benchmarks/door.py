"""
How fast the payload service lets machines in, and whether it gives back what they cost.

    make bench

Every request is a TLS connection of its own, as a machine makes it, against nginx with one worker
that serves a file of the same size with the same certificate. Both are measured in turns, with the
same program (ab), in one run, and the best rounds are compared. Memory is that of the service's
process before and after 400 refused connections at once, and after 1,200 that say nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fairlead.agent.https_fetch import Request, fetch
from fairlead.controller.reconcile import reconcile
from fairlead.embedded.certificates.authority import make_or_read
from fairlead.embedded.serve.plane import chance
from fairlead.embedded.serve.server import listen, make_server
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.parse import API_VERSION
from fairlead.inputs.platform_inputs import Stub
from fairlead.payload.app import make_app
from fairlead.payload.bearer import issued

CONNECTIONS = {1: 150, 32: 400, 200: 400}  # at once: requests in each round
# A neighbour takes the processor for a round, never gives one: the best round of each counts.
ROUNDS = 9
TRIES = 3
RATIO_BAR = 0.5
MEMORY_BAR = 1.10
REFUSED = 400
IDLE = 1200
TOOLS = {"nginx": "nginx-light", "ab": "apache2-utils"}

NGINX = """
daemon off; pid {root}/nginx.pid; error_log {root}/error.log; worker_processes 1; {user}
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nodelay on;
  client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
  uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
  server {{
    listen 127.0.0.1:{port} ssl backlog=1024;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    root {root}/files; default_type application/json;
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Server:
    """One server: where it listens, its process, and what it is asked for."""

    name: str
    port: int
    process: int
    path: str = "/v1/node-config"


def main() -> int:
    """Print what was measured; exit 1 if a bar is missed, 2 if a program is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return 0
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        print(f"not installed: apt-get install {' '.join(missing)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        rows = measure(Path(scratch), stack)
    print(f"{'what':60} {'found':>10} {'bar':>8}")
    for name, found, bar, _ in rows:
        print(f"{name:60} {found:>10} {bar:>8}")
    return 0 if all(is_met for *_, is_met in rows) else 1


Row = tuple[str, str, str, bool]


def measure(scratch: Path, stack: ExitStack) -> list[Row]:
    """Return every measurement with its bar."""
    ours, headers, size = start_ours(scratch, stack)
    theirs = start_nginx(scratch, size, stack)
    rows = [rate_row(ours, theirs, headers, at_once) for at_once in CONNECTIONS]
    return [*rows, refused_row(ours), idle_row(ours)]


def rate_row(ours: Server, theirs: Server, headers: list[str], at_once: int) -> Row:
    """Compare two servers; a bar counts as missed only if it is missed three times."""
    for _ in range(TRIES):
        found: dict[str, list[float]] = {ours.name: [], theirs.name: []}
        for _ in range(ROUNDS):
            for server in (ours, theirs):
                rate = rate_of(server, headers, at_once, CONNECTIONS[at_once])
                found[server.name].append(rate)
        mine, other = (max(found[server.name]) for server in (ours, theirs))
        if mine >= RATIO_BAR * other:
            break
    text = f"new TLS requests/s, {at_once} at once: {mine:.0f}, nginx {other:.0f}"
    return text, f"{mine / other:.2f} x", f"{RATIO_BAR} x", mine >= RATIO_BAR * other


def rate_of(server: Server, headers: list[str], at_once: int, requests: int) -> float:
    """Return requests per second; every one of them must be answered with 200."""
    said = asked(server, headers, ["-c", str(at_once), "-n", str(requests)])
    lines = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
    return float(lines["Requests per second"].split()[0])


def asked(server: Server, headers: list[str], words: list[str]) -> str:
    """Return what ab says, if every request was answered with 200."""
    address = f"https://127.0.0.1:{server.port}{server.path}"
    command = ["ab", "-q", *words]
    command += [word for header in headers for word in ("-H", header)]
    done = subprocess.run([*command, address], capture_output=True, text=True, check=True)
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    bad = lines["Failed requests"].strip(), lines.get("Non-2xx responses", "0").strip()
    if bad != ("0", "0"):
        raise SystemExit(f"{server.name}: {bad} failed\n{done.stdout}")
    return done.stdout


def refused_row(server: Server) -> Row:
    """Return what stays of the memory after refused connections at once, again and again."""

    def refuse() -> None:
        address = f"https://127.0.0.1:{server.port}/v1/node-config"
        words = ["ab", "-q", "-c", str(REFUSED), "-n", str(REFUSED), address]
        subprocess.run(words, capture_output=True, check=True)

    return memory_row(f"memory after {REFUSED} refused connections at once", server, refuse)


def idle_row(server: Server) -> Row:
    """Return what stays of the memory after connections that say nothing."""

    def idle() -> None:
        with ExitStack() as stack:
            for _ in range(IDLE):
                with suppress(OSError):
                    stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 10))

    return memory_row(f"memory after {IDLE} idle connections", server, idle)


def memory_row(name: str, server: Server, burst: object) -> Row:
    """
    Compare the memory of a process that has served before and after what happens to it.

    The first time it happens an allocator takes room that it keeps; what comes after must not add.
    """
    assert callable(burst)  # noqa: S101 - a function of ours
    burst()
    time.sleep(3)
    before = memory_mb(server.process)
    for _ in range(3):
        burst()
    time.sleep(3)
    after = memory_mb(server.process)
    found = f"{name}: {before:.1f} -> {after:.1f} MB"
    return found, f"{after / before:.2f} x", f"{MEMORY_BAR} x", after <= MEMORY_BAR * before


def memory_mb(process: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"process {process} has no memory")


def start_nginx(
    scratch: Path, size: int, stack: ExitStack, path: str = "/v1/node-config"
) -> Server:
    """Serve a file of this size by nginx, with our certificate."""
    root = scratch / "nginx"
    file = root / "files" / path.partition("?")[0].removeprefix("/")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x" * size)
    certificates = make_or_read(scratch / "state" / "certificates")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = NGINX.format(
        root=root,
        port=port,
        user="user root;" if os.geteuid() == 0 else "",
        certificate=certificates.certificate_file,
        key=certificates.key_file,
    )
    (root / "nginx.conf").write_text(text)
    words = [
        "nginx",
        "-c",
        str(root / "nginx.conf"),
        "-p",
        str(root),
        "-e",
        str(root / "error.log"),
    ]
    process = subprocess.Popen(words)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    wait_for_port(port)
    return Server("nginx", port, process.pid, path)


def wait_for_port(port: int) -> None:
    """Return once somebody listens there."""
    for _ in range(500):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise SystemExit(f"nobody listens on port {port}")


def start_ours(scratch: Path, stack: ExitStack) -> tuple[Server, list[str], int]:
    """Start the payload service over a real store; return what a machine sends, and gets."""
    words = [sys.executable, __file__, "--serve", str(scratch / "state")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    assert process.stdout is not None  # noqa: S101 - a pipe
    port, machine, token = process.stdout.readline().split()
    ca = make_or_read(scratch / "state" / "certificates").ca_pem
    request = Request(f"https://127.0.0.1:{port}/v1/node-config", ca, token, machine)
    headers = [f"Authorization: Bearer {token}", f"Fairlead-Machine: {machine}"]
    return Server("ours", int(port), process.pid), headers, len(fetch(request, 10.0)[1])


async def serve(path: Path) -> None:
    """Serve one booting machine until the process ends."""

    def now() -> datetime:
        return datetime.now(UTC)

    directory = StateDirectory(path)
    store = Store(directory)
    certificates = make_or_read(directory.certificates)
    listener = listen(directory.port)
    stub = Stub(endpoint=f"{listener.address}/v1/node-config", ca=certificates.ca_pem)
    world = EmbeddedWorld(store, directory, stub, now)
    spec = {"replicas": 1, "release": {"version": "1.34.2"}}
    metadata = {"name": "workers"}
    document = {"apiVersion": API_VERSION, "kind": "NodePool", "metadata": metadata, "spec": spec}
    world.pools.write_pool(document)
    for _ in range(5):
        reconcile("workers", world.world(), chance(), now())
        world.machines.observe_templates()
    (machine,) = world.machines.list_machines("workers")
    token = base64.b64encode(b"t" * 32).decode()
    world.machines.note_power(machine.name)
    world.machine_tokens.write(issued(machine.name, machine.revision, token, now()))
    source = StoredPayloads(world, lambda: None)
    server = make_server(make_app(source, now), listener.socket, certificates)
    serving = asyncio.ensure_future(server.serve([listener.socket]))
    await server.is_ready()
    print(listener.address.rpartition(":")[2], machine.name, token, flush=True)
    await serving


if __name__ == "__main__":
    sys.exit(main())
