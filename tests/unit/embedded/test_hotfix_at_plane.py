"""Hotfixes at a control plane: who is believed, what new disks get, what is kept and removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.answers.words import Fault
from fairlead.contract.feature_file import parse_features
from fairlead.embedded.hotfix.at_plane import HotfixAtPlane
from fairlead.embedded.hotfix.counted_log import MOST_LINES, TOLD_EVERY, CountedLog
from fairlead.embedded.hotfix.image_files import image_files
from fairlead.embedded.hotfix.token_verifier import TokenVerifier
from fairlead.embedded.machines.disk import MachineDisk
from fairlead.embedded.machines.kind import Seed
from fairlead.embedded.serve.log import Log
from fairlead.embedded.serve.purge import purge
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.backup import copy_database, pack, remove_database
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.restore import restore
from fairlead.errors import InputError
from fairlead.hotfix.service.attestation.verifier import Claims, NotAdmittedError, UnprovenError
from fairlead.hotfix.service.fleet import Fleet
from fairlead.payload.bearer import Bearer, Standing, issued
from fairlead.rollout.secrets import TOKEN_LIFE, hashed
from fairlead.sim.clock import START
from served_hotfixes import FIX, NOW, make_depot, make_fix, report_text
from unit.embedded.open_world import make_token

TOKEN = "dG9rZW4tb2YtYS1tYWNoaW5l"
SEED = Seed(hostname="m1", instance="m1-1", user_data=b"#cloud-boothook\n")
PAIR = make_token()


class OneBearer:
    """Knows one machine's token."""

    def __init__(self, standing: Standing = Standing.EXPECTED) -> None:
        own = issued("m1", PAIR.id, TOKEN, START)
        self._bearer = Bearer(pair=PAIR, own=own, standing=standing)

    def find_bearer(self, token_hash: str, _machine: str) -> Bearer | None:
        return self._bearer if token_hash == hashed(TOKEN) else None


def test_a_machine_is_known_by_the_token_that_it_boots_with() -> None:
    claims = TokenVerifier(OneBearer()).verify(TOKEN, "m1", START)

    # Nothing of it may be kept: the boot may end at any moment.
    assert claims == Claims(machine="m1", region="local", pool="workers", until=None)


@pytest.mark.parametrize(
    ("token", "machine", "standing", "later", "refusal"),
    [
        ("b3RoZXI=", "m1", Standing.EXPECTED, False, UnprovenError),
        (TOKEN, "m2", Standing.EXPECTED, False, NotAdmittedError),
        (TOKEN, "", Standing.EXPECTED, False, UnprovenError),
        (TOKEN, "m1", Standing.OVER, False, UnprovenError),
        (TOKEN, "m1", Standing.UNKNOWN, False, UnprovenError),
        (TOKEN, "m1", Standing.EXPECTED, True, UnprovenError),
    ],
)
def test_a_token_proves_nothing_for_others_or_after_the_boot(
    token: str, machine: str, standing: Standing, later: bool, refusal: type[Exception]
) -> None:
    now = START + TOKEN_LIFE if later else START

    with pytest.raises(refusal) as caught:
        TokenVerifier(OneBearer(standing)).verify(token, machine, now)

    assert token not in str(caught.value)


@pytest.fixture
def disk(tmp_path: Path) -> MachineDisk:
    (tmp_path / "root").mkdir()
    return MachineDisk(tmp_path / "root")


def test_a_new_disk_gets_what_an_image_needs_for_fixes(tmp_path: Path, disk: MachineDisk) -> None:
    depot = make_depot(tmp_path / "depot")
    (depot.apt / "repository.gpg").write_bytes(b"public key")
    files = image_files(depot, "https://127.0.0.1:7443", "OUR CA")

    disk.prepare_boot(replace(SEED, image_files=files), Fault.NONE)

    assert disk.find_text("/etc/fairlead/hotfix/root.json") == depot.read_signed().roots[-1]
    assert disk.find_text("/etc/fairlead/hotfix/repository.gpg") == b"public key"
    assert disk.find_text("/etc/fairlead/hotfix/ca.pem") == b"OUR CA"
    assert disk.find_text("/etc/fairlead/hotfix/repository.list") == (
        b"deb [signed-by=/etc/fairlead/hotfix/repository.gpg] https://127.0.0.1:7443/depot/apt ./\n"
    )
    features = disk.find_text("/etc/fairlead/features.env") or b""
    assert parse_features(features) == {"ENABLE_PROVISIONING_HOTFIX": "true"}
    # What it boots from is the same as without a depot.
    assert disk.has_seed(SEED)


def test_with_another_seed_a_machine_goes_on_asking_for_fixes(disk: MachineDisk) -> None:
    files = {"/etc/fairlead/hotfix/root.json": b"{}"}
    disk.prepare_boot(replace(SEED, image_files=files), Fault.NONE)

    disk.prepare_boot(replace(SEED, instance="m1-2"), Fault.NONE)

    assert disk.find_text("/etc/fairlead/features.env") == b"ENABLE_PROVISIONING_HOTFIX=true\n"


def test_a_machine_that_was_made_before_stays_as_it_is(disk: MachineDisk) -> None:
    disk.prepare_boot(SEED, Fault.NONE)

    later = replace(SEED, instance="m1-2", image_files={"/etc/fairlead/hotfix/root.json": b"{}"})
    disk.prepare_boot(later, Fault.NONE)

    assert not disk.has("/etc/fairlead/hotfix")
    assert not disk.has("/etc/fairlead/features.env")


def make_plane(directory: StateDirectory) -> HotfixAtPlane:
    return HotfixAtPlane(
        directory, OneBearer(), Log(), lambda: ("https://127.0.0.1:7443", "OUR CA")
    )


def test_without_a_depot_there_is_nothing(tmp_path: Path) -> None:
    plane = make_plane(StateDirectory(tmp_path))
    plane.tick()
    plane.count_report("workers", "m1", report_text(run="1"))
    plane.forget("m1")

    assert plane.image_files() == {}
    assert list(tmp_path.iterdir()) == []


async def _served(plane: HotfixAtPlane) -> None:
    plane.tick()
    plane.count_report("workers", "m1", report_text(run="1", used=FIX))
    plane.count_report("workers", "m2", b"no report at all")
    await plane.close()


def test_boot_reports_of_the_payload_service_are_counted(tmp_path: Path) -> None:
    import asyncio

    directory = StateDirectory(tmp_path)
    make_depot(directory.hotfix, [make_fix()])

    asyncio.run(_served(make_plane(directory)))

    (reach,) = Fleet(directory.hotfix).reach_of([make_fix()])
    assert (reach.have, reach.lack) == (1, 0)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateDirectory]:
    directory = StateDirectory(tmp_path / "state")
    store = Store(directory)
    depot = make_depot(directory.hotfix, [make_fix()])
    (depot.apt / "Release").write_text("an index")
    (depot.directory / "ledger.db").write_bytes(b"")
    directory.hotfix_keys.mkdir()
    (directory.hotfix_keys / "release.pem").write_text("an offline key")
    yield directory
    store.close()


def test_a_backup_holds_the_catalog_the_metadata_and_the_online_key_and_no_offline_key(
    tmp_path: Path, state: StateDirectory
) -> None:
    before = {
        name: (state.hotfix / name).read_bytes()
        for name in ("catalog.json", "metadata/update.json", "keys/online.pem")
    }
    copy = tmp_path / "copy.db"
    elsewhere = Store(StateDirectory(tmp_path / "other"))
    found = copy_database(elsewhere, StateDirectory(tmp_path / "other"))
    found.replace(copy)
    elsewhere.close()
    held = pack(copy, state, tmp_path / "backup")
    remove_database(copy)

    assert {f"hotfix/{name}" for name in before} <= held.files.keys()
    assert not any(
        name.startswith(("hotfix-keys", "hotfix/apt", "hotfix/ledger", "hotfix/.lock"))
        for name in held.files
    )
    fresh = StateDirectory(tmp_path / "fresh")
    restore(tmp_path / "backup", fresh, over=False)
    assert {name: (fresh.hotfix / name).read_bytes() for name in before} == before


def test_a_backup_that_names_other_files_of_a_depot_is_refused(tmp_path: Path) -> None:
    from fairlead.embedded.store.restore import _write_file

    for name in ("hotfix/ledger.db", "hotfix/../../x", "hotfix/apt/Release", "hotfix-keys/a.pem"):
        with pytest.raises(InputError, match="which no control plane has"):
            _write_file(StateDirectory(tmp_path), name, b"")


def test_a_purge_removes_the_depot_and_its_keys_by_name(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "state")
    Store(directory).close()
    make_depot(directory.hotfix, [make_fix()])
    directory.hotfix_keys.mkdir()
    for name in ("release.pem", "root-1.pem", "letter.txt"):
        (directory.hotfix_keys / name).write_text("a")
    (directory.hotfix / "notes.txt").write_text("somebody's own")

    left = purge(directory)

    assert [path.name for path in left] == ["hotfix", "hotfix-keys"]
    assert [path.name for path in directory.hotfix.iterdir()] == ["notes.txt"]
    assert [path.name for path in directory.hotfix_keys.iterdir()] == ["letter.txt"]


def test_lines_that_anybody_can_cause_are_told_once_and_then_counted() -> None:
    told: list[str] = []
    log = CountedLog(told.append)
    log.settle(NOW)
    for number in range(1000):
        log.tell("refused")
        log.tell(f"refused {number}")
    log.settle(NOW + TOLD_EVERY)

    assert told[:2] == ["refused", "refused 0"]
    assert told[-2:] == ["refused (999 more)", f"other lines ({1000 - MOST_LINES + 1} more)"]
    assert len(told) == MOST_LINES + 2
