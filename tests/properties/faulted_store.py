"""
A control plane's history over a real store and real machine directories, cut short by a fault.

Run as a program it reads one JSON object per line, runs that history in a child of its own, and
answers how the child ended; one interpreter starts for hundreds of them.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from fairlead.answers.words import Phase
from fairlead.embedded.machines.place import remove_tree
from fairlead.embedded.store.database import Store
from fairlead.errors import UnavailableError
from fairlead.payload.bearer import MachineToken
from fairlead.rollout.machines import Machine
from fairlead.rollout.secrets import hashed
from pool_documents import pool_document
from service.stored_plane import StoredPlane

POOLS = ("workers", "edge", "db")
STEPS = 14

# What may take a machine away in these histories.
CAUSES = {
    "",
    "the pool's owner changed release.version",
    "the pool was scaled down",
    "its target was superseded, and the pool has machines enough",
}


class PlacedPlane(StoredPlane):
    """Machines have a directory each, made and removed in the order in which a driver does."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        # Names are never used twice, by whichever process.
        self._drawn = 1_000 * self.store.rows("SELECT count(*) FROM machines")[0][0]

    def _run(self, machine: Machine) -> bool:
        place = self.directory.machines / machine.name
        if machine.is_leaving:
            remove_tree(place)
        elif machine.phase is Phase.BOOTING or machine.is_in_flight:
            (place / "root").mkdir(parents=True, exist_ok=True)
            self._give_power(machine)
            self._give_power(machine)  # it fell, and boots again
        return super()._run(machine)

    def _give_power(self, machine: Machine) -> None:
        """Write what a driver and a boot write: a token instead of the last, power, a report."""
        end = self.now() + timedelta(hours=1)
        self.world.machine_tokens.write(
            MachineToken(
                machine=machine.name,
                pair=machine.revision,
                token_hash=hashed(self._draw_token()),
                issued_at=self.now(),
                expires_at=end,
            )
        )
        self.world.machines.note_power(machine.name)
        self.world.machines.write_report(machine.name, b"{}")
        self.world.machine_tokens.spend(machine.name, "said")


def places_of(path: Path) -> set[str]:
    return {entry.name for entry in (path / "machines").iterdir()}


def dump(store: Store) -> dict[str, list[str]]:
    """Everything that is written, by table."""
    tables = [
        str(row[0])
        for row in store.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if not str(row[0]).startswith("sqlite_")
    ]
    return {
        table: sorted(repr(tuple(row)) for row in store.rows(f"SELECT * FROM {table}"))  # noqa: S608
        for table in tables
    }


def run_history(path: Path, seed: int, fault: str) -> None:
    """Change pools and let passes and machines follow; what is acknowledged goes to a file."""
    chance = random.Random(seed)
    plane = PlacedPlane(path)
    if fault == "kill":
        die_at = chance.randrange(1, 160)
        plane.store.before_write = _Countdown(die_at)
    with (path.parent / "acknowledged").open("a") as said:
        for step in range(STEPS):
            if step == STEPS // 2:
                _starve(plane, chance, fault)
            for move in _moves(plane, chance):
                try:
                    move()
                except (UnavailableError, OSError):
                    continue
                number = plane.store.rows("SELECT number FROM ledger")[0][0]
                said.write(json.dumps({"number": number, "names": living(plane.store)}) + "\n")
                said.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def living(store: Store) -> list[str]:
    rows = store.rows("SELECT name FROM machines WHERE gone_at IS NULL ORDER BY name")
    return [row["name"] for row in rows]


def _moves(plane: PlacedPlane, chance: random.Random) -> Iterator[Any]:
    pool = chance.choice(POOLS)
    document = pool_document(pool, pullSecret=None, replicas=chance.choice((1, 2, 3)))
    document["spec"]["release"]["version"] = chance.choice(("1.34.2", "1.35.0"))
    yield lambda: plane.world.pools.write_pool(document)
    for _ in range(chance.randrange(1, 6)):
        for name in POOLS:
            yield lambda name=name: _pass_over(plane, name)
        yield plane.run_machines
    if chance.random() < 0.3:
        yield plane.store.tend


def _pass_over(plane: PlacedPlane, pool: str) -> None:
    if pool in plane.world.pools.list_pools():
        plane.one_pass(pool)


def _starve(plane: PlacedPlane, chance: random.Random, fault: str) -> None:
    """Take away the disk or the descriptors, for the rest of this process."""
    if fault == "disk":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        sizes = [path.stat().st_size for path in plane.directory.path.glob("fairlead.db*")]
        room = max(sizes) + chance.randrange(0, 120_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    if fault == "descriptors":
        resource.setrlimit(resource.RLIMIT_NOFILE, (chance.randrange(0, 3), 64))


class _Countdown:
    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _answer(asked: dict[str, Any]) -> int:
    child = os.fork()
    if child == 0:
        try:
            run_history(Path(asked["path"]), asked["seed"], asked["fault"])
        except Exception:  # noqa: BLE001 - whoever asked sees how it ended
            traceback.print_exc()
        finally:
            os._exit(70)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(f"{_answer(json.loads(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
