"""
What it costs to look at a fleet and to change the platform under it.

    make bench

The routes of the control plane over its own store, with 1,000 pools of three machines of which no
two are alike, and with one pool of 20,000. CPU time of this process; hashing the same documents
once stands beside it. What is called a first look is one: it is never the second of two.

Then the commands themselves, over the socket: CPU time of both processes, from the start of the
interpreter to the last line, with what starting an interpreter that does nothing takes beside it.
"""

import asyncio
import json
import resource
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import control_plane
from control_plane import ALL, Fleet, Row, cpu_of, pool
from starlette.applications import Starlette
from starlette.requests import Request

from fairlead.answers.words import Role
from fairlead.controller.loop import Failure
from fairlead.embedded.access.guard import guarded
from fairlead.embedded.access.roles import Standing
from fairlead.embedded.serve.api_pools import PoolRoutes
from fairlead.embedded.serve.api_request import Plane
from fairlead.embedded.serve.door import COMMANDS, Door
from fairlead.embedded.serve.server import make_server
from fairlead.embedded.serve.unix_socket import bind
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.sweep import SHARE
from fairlead.telling.told_pools import ToldPools

POOLS = 1_000
MACHINES = 20_000
ROUNDS = 5
# A neighbour may slow a whole measurement down.
TRIES = 3

LIST_BAR_S = 0.5
SET_BAR_S = 1.0
LARGE_BAR_S = 1.0
# Of one core: `up` asks for a change four times a second, and looks again every thirty.
IDLE_BAR = 0.01
ASKS_A_SECOND, LOOK_EVERY_S = 4, 30
# While a slice of the database is looked at, nobody is answered.
SLICE_BAR_S = 0.25

FAIRLEAD = ("-m", "fairlead")
SET, BETWEEN = "`fairlead platform set`", "before its passes"


class AtRest:
    """As much of a control plane as the routes need. told: what it told of pools before."""

    def __init__(self, fleet: Fleet, told: ToldPools) -> None:
        self.world = fleet.world
        self.told = told
        self._fleet = fleet

    def now(self) -> datetime:
        """Return the moment of the fleet."""
        return self._fleet.now

    def wake(self) -> None:
        """Make no pass."""

    def failures(self) -> Mapping[str, Failure]:
        """Return that no pass failed."""
        return {}


class Asked:
    """A request with a body, of somebody who may do everything."""

    def __init__(self, **fields: Any) -> None:
        self._body = json.dumps(fields).encode()
        self.state = SimpleNamespace(standing=Standing(name="bench", role=Role.PLATFORM))

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        yield self._body


def main() -> int:
    """Print what was measured; exit 1 if a bar is missed."""
    control_plane.POOLS, control_plane.ORIGINALS = POOLS, POOLS
    memory = Path("/dev/shm")  # noqa: S108 - the directory below it is private
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        fleet = Fleet(StateDirectory(Path(scratch) / "state"))
        try:
            fleet.loop.run_due(fleet.now, ALL)
            for left in reversed(range(TRIES)):
                if is_met := told([*looking(fleet), *changing(fleet)]):
                    break
                print(f"MISSED; tries left: {left}")
            for left in reversed(range(TRIES)):
                if is_served := told(asyncio.run(commanding(fleet))):
                    break
                print(f"MISSED; tries left: {left}")
            is_met &= is_served
            is_met &= told(one_large_pool(fleet))
        finally:
            fleet.store.close()
    print("bars met" if is_met else "MISSED")
    return 0 if is_met else 1


def told(rows: list[Row]) -> bool:
    """Print what was measured; return whether every bar was met."""
    print(f"{'what':52} {'found':>12} {'bar':>12}")
    for name, found, bar, _ in rows:
        print(f"{name:52} {found:>12} {bar:>12}")
    return all(met for *_, met in rows)


def routes_of(fleet: Fleet) -> PoolRoutes:
    """Return routes that remember nothing."""
    return PoolRoutes(cast("Plane", AtRest(fleet, ToldPools())))


def listed(routes: PoolRoutes) -> float:
    """Return the CPU seconds of one `pool list` in the control plane."""
    return cpu_of(lambda: asyncio.run(routes.list_all(cast("Request", Asked()))))[0]


def looking(fleet: Fleet) -> list[Row]:
    """Look at 1,000 pools at rest: the first time, again, and as `up` does all day."""
    texts = fleet.texts()
    hashing = min(
        cpu_of(lambda: [sha256(text).digest() for text in texts])[0] for _ in range(ROUNDS)
    )
    first = min(listed(routes_of(fleet)) for _ in range(ROUNDS))
    routes = routes_of(fleet)
    listed(routes)
    again = min(listed(routes) for _ in range(ROUNDS))
    asked = 10_000
    asking = cpu_of(lambda: [fleet.store.changes for _ in range(asked)])[0] / asked
    swept, longest = sweeping(fleet)
    idle = asking * ASKS_A_SECOND + again / LOOK_EVERY_S + SHARE
    return [
        ("hashing the documents of 1,000 pools", f"{hashing * 1000:.1f} ms", "", True),
        bar_row("pool list, 1,000 pools, the first look", first, LIST_BAR_S),
        bar_row("pool list, 1,000 pools, again", again, LIST_BAR_S),
        ("  as a multiple of hashing", f"{again / hashing:.1f} x", "", True),
        (
            *("`up` over 1,000 pools at rest, of one core", f"{idle:.2%}"),
            *(f"{IDLE_BAR:.0%}", idle <= IDLE_BAR),
        ),
        ("  of it, looking whether the database is whole", f"{SHARE:.2%}", "", True),
        ("  every row and table of it once", f"{swept:.3f} s", "", True),
        bar_row("  the longest that anybody waits for it", longest, SLICE_BAR_S),
    ]


def sweeping(fleet: Fleet) -> tuple[float, float]:
    """Return the CPU seconds of one look at the whole database, and of its longest slice."""
    fleet.store.tend()
    took: list[float] = []
    end = fleet.store.rounds + 1
    while fleet.store.rounds < end:
        took.append(cpu_of(lambda: fleet.store.sweep(time.monotonic() + 1e6 * len(took)))[0])  # noqa: B023
    return sum(took), max(took)


def changing(fleet: Fleet) -> list[Row]:
    """Change the platform under 1,000 pools, and look at them before and after their passes."""
    setting, between, after = [], [], []
    for number in range(ROUNDS):
        image = f"haproxy@sha256:{time.monotonic_ns() + number:064}"
        change = cast("Request", Asked(spec={"proxy": {"image": image}}))
        patch = routes_of(fleet).patch_platform
        setting.append(cpu_of(lambda: asyncio.run(patch(change)))[0])  # noqa: B023
        between.append(listed(routes_of(fleet)))
        fleet.settle()
        after.append(listed(routes_of(fleet)))
    return [
        bar_row("platform set, 1,000 pools", min(setting), SET_BAR_S),
        bar_row("pool list, the first look after it", min(between), LIST_BAR_S),
        bar_row("pool list, the first look after its passes", min(after), LIST_BAR_S),
    ]


async def commanding(fleet: Fleet) -> list[Row]:
    """
    Type `pool list` and `platform set`, as at a control plane that was started anew.

    It makes its passes after the start and after the change; what is typed before those of the
    change are made has no bar of its own: its route has.
    """
    nothing = min([(await typed("-I", "-S", "-c", "pass"))[0] for _ in range(ROUNDS)])
    looks: dict[str, list[tuple[float, float]]] = {}
    for number in range(ROUNDS):
        image = f"proxy.image=haproxy@sha256:{time.monotonic_ns() + number:064}"
        fleet.loop = fleet.make_loop()
        fleet.settle()
        async with served(fleet) as state:

            async def look(when: str, state: tuple[str, str] = state) -> None:
                took = await typed(*FAIRLEAD, "pool", "list", *state)
                looks.setdefault(when, []).append(took)

            await look("the first look after a start")
            await look("again")
            setting = await typed(*FAIRLEAD, "platform", "set", image, *state)
            looks.setdefault(SET, []).append(setting)
            await look(BETWEEN)
            fleet.settle()
            await look("the first look after its passes")
    rows = [("starting an interpreter", f"{nothing:.3f} s", "", True)]
    bars = {SET: SET_BAR_S, BETWEEN: None}
    for when, took in looks.items():
        name = when if when == SET else f"`fairlead pool list`, {when}"
        rows += command_rows(name, took, bars.get(when, LIST_BAR_S))
    return rows


@asynccontextmanager
async def served(fleet: Fleet) -> AsyncIterator[tuple[str, str]]:
    """Serve where commands look, with what the passes told; give the flag that leads there."""
    directory = StateDirectory(fleet.store.path.parent)
    door = Door(bind(directory.socket), COMMANDS)
    routes = PoolRoutes(cast("Plane", AtRest(fleet, fleet.told))).routes()
    app = Starlette(routes=guarded(routes, directory))
    server = make_server(app, door)
    serving = asyncio.create_task(server.serve(sockets=[door]))
    await server.is_ready()
    try:
        yield "--state", str(directory.path)
    finally:
        server.should_exit = True
        await serving
        directory.socket.unlink()


async def typed(*words: str) -> tuple[float, float]:
    """Run Python with these words; return the CPU seconds of that process, and of this one."""
    ours, theirs = time.process_time(), cpu_of_children()
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=DEVNULL)
    if await process.wait():
        raise SystemExit(f"{' '.join(words)} failed")
    return cpu_of_children() - theirs, time.process_time() - ours


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command_rows(
    name: str, took: list[tuple[float, float]], bar_s: float | None = None
) -> list[Row]:
    """Return what both processes used in the cheapest run, and which part of it the command."""
    command, plane = min(took, key=sum)
    whole = command + plane
    if bar_s is None:
        row: Row = (name, f"{whole:.3f} s", "", True)
    else:
        row = bar_row(name, whole, bar_s)
    return [row, ("  of it, the command", f"{command:.3f} s", "", True)]


def one_large_pool(fleet: Fleet) -> list[Row]:
    """Look at one pool of 20,000 machines, beside the others."""
    name = control_plane.name_of(POOLS)
    with fleet.store.writing():
        fleet.world.pools.write_pools([pool(POOLS, replicas=1)])
        fleet.settle()
        [first] = fleet.world.machines.list_machines(name)
        for number in range(MACHINES - 1):
            fleet.world.machines.create_machine(name, f"{name}-{number:05}", first.revision)
            copied = replace(first, name=f"{name}-{number:05}")
            fleet.world.machines.write_machine(copied)
    routes = routes_of(fleet)
    # One pool of the list; the least of several, as above.
    took = min(cpu_of(lambda: routes.answers.listed(name))[0] for _ in range(ROUNDS))
    return [bar_row("pool list, one pool of 20,000", took, LARGE_BAR_S)]


def bar_row(name: str, found_s: float, bar_s: float) -> Row:
    """Return a row with a bar in seconds."""
    return name, f"{found_s:.3f} s", f"{bar_s:g} s", found_s <= bar_s


if __name__ == "__main__":
    sys.exit(main())
