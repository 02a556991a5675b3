"""
Kills, full disks, no descriptors, torn files and flipped bits, each at a moment that a seed draws.

Whatever happened: no machine is lost, made twice or replaced without cause; and what cannot be
read is said, never replaced by a fresh start. A failure prints its seed:
`pytest tests/properties/test_store_faults.py -k "[17]"` runs that one again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.errors import FairleadError, InputError
from properties.faulted_store import CAUSES, POOLS, PlacedPlane, dump, living, places_of

FAULTS = ("kill", "disk", "descriptors", "torn", "flip")
SAMPLE = range(15)
RUNS = range(500)
FLIPS = 200

# In memory where there is such a place: a kill takes nothing from what the kernel has, and a disk
# would be waited for a hundred times in each run.
MEMORY = Path("/dev/shm")


class Histories:
    """Runs histories, each in a process that ends with it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "properties.faulted_store"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def run(self, path: Path, seed: int, fault: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"path": str(path), "seed": seed, "fault": fault}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        assert int(self._process.stdout.readline()) == -signal.SIGKILL

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def histories() -> Iterator[Histories]:
    found = Histories()
    yield found
    found.close()


def acknowledged(path: Path) -> int:
    file = path.parent / "acknowledged"
    lines = file.read_text().splitlines() if file.exists() else []
    return int(json.loads(lines[-1])["number"]) if lines else 0


def hurt(path: Path, chance: random.Random, fault: str) -> str:
    """Damage one file as a disk would; return which."""
    files = [path / name for name in ("fairlead.db", "fairlead.db-wal", "watermark")]
    sized = [file for file in files if file.exists() and file.stat().st_size]
    file = chance.choice(sized)
    content = bytearray(file.read_bytes())
    if fault == "flip":
        bit = chance.randrange(len(content) * 8)
        content[bit // 8] ^= 1 << bit % 8
    elif chance.random() < 0.5:
        del content[chance.randrange(len(content)) :]
    else:
        start = chance.randrange(len(content)) // 512 * 512
        content[start : start + 512] = bytes(len(content[start : start + 512]))
    file.write_bytes(content)
    return file.name


def true_dump(path: Path, scratch: Path) -> dict[str, list[str]]:
    """What a killed control plane left, read from a copy that nobody hurt."""
    shutil.copytree(path, scratch)
    store = Store(StateDirectory(scratch))
    try:
        return dump(store)
    finally:
        store.close()


def assert_told_and_untouched(path: Path, error: FairleadError, before: dict[str, bytes]) -> None:
    """It says what is wrong and what to do, and makes nothing anew."""
    assert isinstance(error, InputError), error
    assert "fairlead restore" in error.hint, error
    assert (path / "fairlead.db").exists() == ("fairlead.db" in before)
    with pytest.raises(FairleadError):  # nor does it forget that by the next start
        Store(StateDirectory(path))


def assert_goes_on(path: Path, number: int) -> None:
    """Nothing that was acknowledged is lost, and the pools come to rest as declared."""
    plane = PlacedPlane(path)
    try:
        assert plane.store.rows("SELECT number FROM ledger")[0][0] >= number
        assert plane.store.damage.rows == ()
        assert places_of(path) <= set(living(plane.store))
        plane.settle()
        for pool in plane.world.pools.list_pools():
            document: Any = plane.world.pools.read_documents(pool).pool
            assert len(plane.names(pool)) == document["spec"]["replicas"]
        stored = plane.world.machines.list_stored(with_gone=True)
        assert {one.machine.reason for one in stored} <= CAUSES
        before = living(plane.store)
        assert places_of(path) == set(before)
        plane.settle()
        assert living(plane.store) == before
    finally:
        plane.close()


def one_run(histories: Histories, folder: Path, seed: int) -> None:
    path, fault = folder / "state", FAULTS[seed % len(FAULTS)]
    chance = random.Random(seed)
    histories.run(path, seed, fault)
    number = acknowledged(path)
    if fault not in ("torn", "flip"):
        assert_goes_on(path, number)
        return
    truth = true_dump(path, folder / "copy")
    hurt(path, chance, fault)
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    try:
        store = Store(StateDirectory(path))
    except FairleadError as error:
        assert_told_and_untouched(path, error, before)
        return
    try:
        is_named = bool(store.damage.pools)
        assert is_named or dump(store) == truth
        assert set(store.damage.pools) <= set(POOLS)
    finally:
        store.close()
    if not is_named:
        assert_goes_on(path, number)


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_fault_loses_doubles_and_replaces_no_machine(
    histories: Histories, folder: Path, seed: int
) -> None:
    one_run(histories, folder, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", RUNS)
def test_500_faults_lose_double_and_replace_no_machine(
    histories: Histories, folder: Path, seed: int
) -> None:
    one_run(histories, folder, 1_000 + seed)


def what_is_said(state: Path, truth: dict[str, list[str]]) -> str | None:
    """Return what a start says that is wrong; None if nothing is."""
    try:
        store = Store(StateDirectory(state))
    except FairleadError as error:
        return str(error)
    try:
        for pool in store.damage.pools:
            store.refuse_damaged(pool)
        return None if dump(store) == truth else "something is lost, and nothing is said"
    except InputError as error:
        return str(error)
    finally:
        store.close()


def flip_often(histories: Histories, folder: Path, name: str, times: int) -> int:
    """Flip bits of a file that a killed control plane left; return how many were noticed."""
    killed = folder / "killed"
    histories.run(killed, 3, "none")
    truth = true_dump(killed, folder / "truth")
    content = (killed / name).read_bytes()
    chance = random.Random(name)
    noticed = 0
    for _ in range(times):
        state = folder / "state"
        shutil.copytree(killed, state)
        bit = chance.randrange(len(content) * 8)
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        (state / name).write_bytes(flipped)
        said = what_is_said(state, truth)
        assert said is None or "fairlead restore" in said, f"bit {bit} of {name}: {said}"
        noticed += said is not None
        shutil.rmtree(state)
    return noticed


FILES = ("fairlead.db", "fairlead.db-wal")


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_loses_nothing_unnoticed(
    histories: Histories, folder: Path, name: str
) -> None:
    assert flip_often(histories, folder, name, 25) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_bit_of_200_loses_anything_unnoticed(
    histories: Histories, folder: Path, name: str
) -> None:
    assert flip_often(histories, folder, name, FLIPS) > 0
