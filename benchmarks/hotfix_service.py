"""
How fast the hotfix service answers machines that prove who they are, and what that costs others.

    make bench

Every request is a TLS connection of its own with an attested document of Azure's shape, whose
signature and chain are verified anew, as for machines that boot for the first time; against nginx
with one worker that serves a file of the same size with the same certificate. Both are measured in
turns with ab, in one run; the best rounds count. One process serves, as on an embedded control
plane; in its event loop a task wakes four times a second, as a control loop does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from door import TOOLS, Row, Server, asked, memory_mb, rate_row, start_nginx

from fairlead.agent.https_fetch import Request, fetch
from fairlead.embedded.certificates.authority import make_or_read
from fairlead.embedded.serve.server import listen, make_server
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.service.attestation.verifier import AttestationVerifier, Claims
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.http_app import make_hotfix_app
from fairlead.hotfix.service.pointers import ServedPointers
from fairlead.hotfix.service.shelf import Shelf

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from served_hotfixes import make_depot, make_fix
from unit.hotfix.attested import AZURE_DOCUMENT, azure_proof, azure_verifier

PATH = "/v1/hotfix?component=fairlead-node&version=202611.16.0"
AT_ONCE = 32

# Growth of memory while it serves at full load, after the first seconds.
MEMORY_BAR = 1.10

# Of what a task that wakes as often as the control loop would do in an idle event loop.
BEAT_S = 0.25
BEATS_BAR = 0.5


class EachTime:
    """A verifier whose word is good for one request."""

    name = "azure"

    def __init__(self, verifier: AttestationVerifier) -> None:
        self._verifier = verifier

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """Verify, and let nobody keep what was found; served as region `local`."""
        return replace(self._verifier.verify(proof, machine, now), until=None, region="local")


def main() -> int:
    """Print what was measured; exit 1 if a bar is missed, 2 if a program is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="at full load (default: 60)")
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
        rows = measure(Path(scratch), stack, arguments.seconds)
    print(f"{'what':70} {'found':>10} {'bar':>8}")
    for name, found, bar, _ in rows:
        print(f"{name:70} {found:>10} {bar:>8}")
    return 0 if all(is_met for *_, is_met in rows) else 1


def measure(scratch: Path, stack: ExitStack, seconds: int) -> list[Row]:
    """Return every measurement with its bar."""
    ours, headers, size = start_ours(scratch, stack)
    theirs = start_nginx(scratch, size, stack, PATH)
    text, *rest = rate_row(ours, theirs, headers, AT_ONCE)
    rate: Row = (f"attested {text} ({size} bytes)", *rest)  # type: ignore[assignment]
    return [rate, *load_rows(ours, headers, seconds, scratch / "beats")]


def load_rows(server: Server, headers: list[str], seconds: int, beats: Path) -> list[Row]:
    """Return how a service does that has no pause for a while."""
    full = ["-c", str(AT_ONCE), "-n", "10000000"]
    asked(server, headers, ["-t", "5", *full])  # what an allocator takes and keeps
    before, count = memory_mb(server.process), json.loads(beats.read_text())["count"]
    start = time.monotonic()
    said = asked(server, headers, ["-t", str(seconds), *full])
    took = time.monotonic() - start
    after, told = memory_mb(server.process), json.loads(beats.read_text())
    share = (told["count"] - count) / (took / BEAT_S)
    p99 = next(line.split()[1] for line in said.splitlines() if line.strip().startswith("99%"))
    done = next(line.split()[2] for line in said.splitlines() if line.startswith("Complete req"))
    grown = f"memory over {seconds} s at full load: {before:.1f} -> {after:.1f} MB"
    slow = f"{seconds} s at full load: {done} answers, no error, p99 {p99} ms"
    late = f"turns of another task of the loop meanwhile, latest {told['latest_ms']:.0f} ms late"
    return [
        (slow, "0 errors", "0", True),
        (grown, f"{after / before:.2f} x", f"{MEMORY_BAR} x", after <= MEMORY_BAR * before),
        (late, f"{share:.2f} x", f"{BEATS_BAR} x", share >= BEATS_BAR),
    ]


def start_ours(scratch: Path, stack: ExitStack) -> tuple[Server, list[str], int]:
    """Start the service over a depot; return what a machine sends, and gets."""
    words = [sys.executable, __file__, "--serve", str(scratch)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    assert process.stdout is not None  # noqa: S101 - a pipe
    port, proof = process.stdout.readline().split()
    ca = make_or_read(scratch / "state" / "certificates").ca_pem
    body = fetch(Request(f"https://127.0.0.1:{port}{PATH}", ca, proof, "m1"), 10.0)[1]
    headers = [f"Authorization: Bearer {proof}", "Fairlead-Machine: m1"]
    return Server("ours", int(port), process.pid, PATH), headers, len(body)


async def serve(scratch: Path) -> None:
    """Serve one fix to everybody who is proven, until the process ends."""

    def now() -> datetime:
        return datetime.now(UTC)

    state = scratch / "state"
    (state / "certificates").mkdir(parents=True)
    certificates = make_or_read(state / "certificates")
    depot = make_depot(state / "depot", [make_fix(everyone=True)], now())
    app = make_hotfix_app(pointers_of(depot), now)
    listener = listen(state / "port")
    server = make_server(app, listener.socket, certificates)
    serving = asyncio.ensure_future(server.serve([listener.socket]))
    beating = asyncio.ensure_future(beat(scratch / "beats"))
    await server.is_ready()
    print(listener.address.rpartition(":")[2], fresh_proof(now()), flush=True)
    await serving
    beating.cancel()


def pointers_of(depot: Depot) -> ServedPointers:
    """Return the answers for a depot, to whom Azure's documents prove."""
    return ServedPointers(Shelf(depot), FileLedger(depot.directory), [EachTime(azure_verifier())])


def fresh_proof(now: datetime) -> str:
    """Return a document that counts for the next hours."""
    form = "%m/%d/%y %H:%M:%S -0000"
    stamp = {
        "createdOn": now.strftime(form),
        "expiresOn": (now + timedelta(hours=6)).strftime(form),
    }
    return azure_proof({**AZURE_DOCUMENT, "timeStamp": stamp})


async def beat(file: Path) -> None:
    """Count turns, and write down how many there were and how late the latest was."""
    count, latest = 0, 0.0
    while True:
        due = time.monotonic() + BEAT_S
        await asyncio.sleep(BEAT_S)
        count, latest = count + 1, max(latest, time.monotonic() - due)
        told = file.with_suffix(".new")
        told.write_text(json.dumps({"count": count, "latest_ms": latest * 1000}))
        told.replace(file)


if __name__ == "__main__":
    sys.exit(main())
