"""
Whether a control plane gives back the memory that work took: large plans, and rollouts.

    make bench
    benchmarks/memory.py --minutes 10     # rollouts for so long

A real control plane in a process of its own, asked over its socket as commands ask it. Its machines
are not there: they count as booted the moment they have power, so that half a minute holds as many
rollouts as an hour of real boots. Memory is that of the process, before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.answers.words import Fault, Phase, PoolState
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.serve.client import Client
from fairlead.embedded.serve.plane import ControlPlane
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import UnavailableError
from fairlead.inputs.parse import API_VERSION

if TYPE_CHECKING:
    from fairlead.inputs.leaf import Json

MEMORY_BAR = 1.10
PLANS, PLAN_BYTES = 25, 3_900_000
MACHINES = 10
ROLLOUTS = 30
# Once is not counted: caches fill and an allocator takes room that it keeps. The 2 MB of pages that
# SQLite keeps are full after some 60 rollouts.
WARM_PLANS, WARM_ROLLOUTS = 5, 60
LONGEST_S = 60.0
REST_S = 3.0
TRIES = 2


class Instant:
    """Machines that are up the moment they have power."""

    name = "instant"

    def power_on(self, machine: str, seed: Seed | None, fault: Fault) -> None:
        """Take it."""

    def life_of(self, machine: str) -> Life:
        """Return that it runs."""
        del machine
        return Life.UP

    def last_words(self, machine: str) -> str:
        """Return nothing."""
        del machine
        return ""

    def destroy(self, machine: str) -> None:
        """Let it go."""

    def list_names(self) -> tuple[str, ...]:
        """Return that there are none."""
        return ()


def main() -> int:
    """Print what was measured; exit 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", metavar="DIRECTORY", help="be the control plane")
    parser.add_argument("--minutes", type=float, help=f"of rollouts, in the place of {ROLLOUTS}")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(Path(arguments.serve)))
        return 0
    for left in reversed(range(TRIES)):
        if measured(arguments.minutes):
            print("bars met")
            return 0
        print(f"MISSED; tries left: {left}")
    return 1


async def serve(path: Path) -> None:
    """Be a control plane whose machines are ready at once."""
    directory = StateDirectory(path)
    plane = ControlPlane(directory, Instant())
    plane.declare([pool("first", 0)])
    async with asyncio.TaskGroup() as group:
        ready = group.create_task(bring_up(plane))
        await plane.run()
        ready.cancel()


async def bring_up(plane: ControlPlane) -> None:
    """Let every machine that has power be ready."""
    machines = plane.world.machines
    while True:
        await asyncio.sleep(0.02)
        for stored in machines.list_moving():
            if stored.machine.phase is Phase.BOOTING and stored.powered_at is not None:
                up = replace(stored.machine, phase=Phase.READY, ready_at=datetime.now(UTC))
                machines.write_machine(replace(up, booted=up.revision))
                plane.wake()


def pool(name: str, number: int, content: str = "") -> Json:
    """Return a pool whose machines are replaced for another number."""
    spec: dict[str, Json] = {
        "release": {"version": "1.34.2", "digest": "sha256:1111"},
        "replicas": MACHINES,
        "imageBase": f"2026{number:02}.01",
        "management": {"maxSurge": "100%"},
    }
    if content:
        spec["config"] = [{"kind": "Files", "files": [{"path": "/etc/large", "content": content}]}]
    metadata = {"name": name}
    return {"apiVersion": API_VERSION, "kind": "NodePool", "metadata": metadata, "spec": spec}


def measured(minutes: float | None) -> bool:
    """Measure one control plane from its start to its end; say whether every bar was met."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "state"
        process = subprocess.Popen([sys.executable, __file__, "--serve", str(path)])
        try:
            client = Client(StateDirectory(path), 60.0)
            until(lambda: is_settled(client))
            return told(process.pid, client, minutes)
        finally:
            process.terminate()
            process.wait()


def told(process: int, client: Client, minutes: float | None) -> bool:
    """Let the control plane work; print what stays of it, and return whether that is little."""
    rolling = f"{minutes:g} minutes of rollouts" if minutes else f"{ROLLOUTS} rollouts"
    met = [
        row(process, f"{PLANS} plans of {PLAN_BYTES / 1e6:.1f} MB", plans(client)),
        row(process, f"{rolling} of {MACHINES} machines", rollouts(client, minutes)),
    ]
    return all(met)


def row(process: int, name: str, work: Callable[[int], None]) -> bool:
    """Compare the memory of a process that has done this before with what it has afterwards."""
    work(0)
    time.sleep(REST_S)
    before = memory_mb(process)
    begun = time.monotonic()
    work(1)
    took = time.monotonic() - begun
    time.sleep(REST_S)
    after = memory_mb(process)
    print(
        f"memory after {name} in {took:.0f} s: {before:.1f} -> {after:.1f} MB, "
        f"{after / before:.2f} x, bar {MEMORY_BAR} x"
    )
    return after <= MEMORY_BAR * before


def plans(client: Client) -> Callable[[int], None]:
    """Return what has large documents planned; each is another one."""

    def work(turn: int) -> None:
        for number in range(PLANS if turn else WARM_PLANS):
            # A machine fetches no more than 3 MiB, so they are two pools.
            content = f"{turn}.{number}." + "x" * (PLAN_BYTES // 2)
            client.plan([pool(name, 0, content) for name in ("large", "larger")])

    return work


def rollouts(client: Client, minutes: float | None) -> Callable[[int], None]:
    """Return what replaces every machine of a pool, again and again."""
    longest_s, most = (60 * minutes, sys.maxsize) if minutes else (LONGEST_S, ROLLOUTS)

    def work(turn: int) -> None:
        end = time.monotonic() + longest_s
        for number in range(most if turn else WARM_ROLLOUTS):
            if time.monotonic() > end:
                print(f"ended after {number} rollouts: {longest_s:.0f} s are over")
                return
            base = f"20{10 + turn}{1 + number % 12:02}.{1 + number // 12 % 28:02}"
            client.patch_pool("first", {"imageBase": base}, dry_run=False)
            until(lambda: is_settled(client))

    return work


def is_settled(client: Client) -> bool:
    """Say whether every machine is what is declared."""
    (found,) = client.pools().pools
    return found.state is PoolState.SETTLED and found.updated == found.total == MACHINES


def until(look: Callable[[], bool]) -> None:
    """Wait for something that comes."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(UnavailableError):
            if look():
                return
        time.sleep(0.02)
    raise SystemExit("the control plane does not get there")


def memory_mb(process: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"process {process} has no memory")


if __name__ == "__main__":
    sys.exit(main())
