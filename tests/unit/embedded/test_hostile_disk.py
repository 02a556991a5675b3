"""What a machine wrote, or put in the place of a file: looked at in bounded time, and told."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.answers.words import Fault
from fairlead.boots.failure import failure_text
from fairlead.contract.boot_report import BootReport, StageReport
from fairlead.embedded.machines.directory import DirectoryMachines
from fairlead.embedded.machines.disk import MachineDisk
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.machines.last_words import last_words_of
from fairlead.embedded.machines.place import remove_tree
from fairlead.embedded.machines.process import LARGEST_CONSOLE
from fairlead.errors import UnavailableError

RECORD = "/var/log/fairlead/record.jsonl"
LOG = "/var/log/fairlead/node.log"
RUN = {"run": "r1", "agent": "1", "layout": "fairlead", "started": "2026-07-01T12:00:00.000Z"}
SEED = Seed(hostname="m", instance="m-1", user_data=b"#cloud-config\n")


def make_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the kernel takes no long path
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


ODDITIES: list[tuple[Callable[[Path], None], str]] = [
    (Path.mkdir, "a directory"),
    (make_link, "a link"),
    (make_pipe, "a pipe"),
    (make_socket, "a socket"),
]


@pytest.fixture
def disk(tmp_path: Path) -> MachineDisk:
    return MachineDisk(tmp_path)


def path_on(disk: MachineDisk, path: str) -> Path:
    found: Path = disk._root / path.lstrip("/")
    found.parent.mkdir(parents=True, exist_ok=True)
    return found


def words_of(disk: MachineDisk, record: bytes) -> str:
    path_on(disk, RECORD).write_bytes(record)
    return last_words_of(disk, 0, is_running=False)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_the_layout_of_these_tests_is_the_machines(disk: MachineDisk) -> None:
    assert (disk.layout.record, disk.layout.log) == (RECORD, LOG)


@pytest.mark.parametrize(("make", "kind"), ODDITIES, ids=[kind for _, kind in ODDITIES])
def test_a_record_that_is_no_file_is_told_and_leaves_nothing_open(
    disk: MachineDisk, make: Callable[[Path], None], kind: str
) -> None:
    make(path_on(disk, RECORD))
    before = open_descriptors()

    for _ in range(20):
        said = last_words_of(disk, 0, is_running=False)

    assert said == f"its flight record {RECORD} is {kind}, not a file"
    assert open_descriptors() == before


@pytest.mark.parametrize(("make", "kind"), ODDITIES[:3], ids=[kind for _, kind in ODDITIES[:3]])
def test_whatever_is_in_the_place_of_a_file_is_no_file(
    disk: MachineDisk, make: Callable[[Path], None], kind: str
) -> None:
    make(path_on(disk, LOG))
    before = open_descriptors()

    assert disk.find_text(LOG) is None
    assert disk.oddity_at(LOG) == kind
    assert open_descriptors() == before


HOSTILE_LINES = {
    "deep list": b'{"fact": "x", "value": ' + b"[" * 900 + b"]" * 900 + b"}",
    "deep object": b'{"fact": "x", "value": ' + b'{"a":' * 900 + b"1" + b"}" * 901,
    "bomb": b"{" * 20_000,
    "numbers without end": b'{"exit": ' + b"9" * 4000 + b', "took": 1}',
    "infinite": b'{"begin": "a", "at": 1e999}',
    "a clock of 400 digits": b'{"begin": "a", "at": 1' + b"0" * 400 + b"}",
    "no number": b'{"begin": "a", "at": {}}',
    "no text": b'{"stage": [], "at": [], "outcome": {}}',
    "not Unicode": b'{"fact": "\xff\xfe", "value": 1}',
    "nul": b"\0" * 5000,
}


@pytest.mark.parametrize("line", HOSTILE_LINES.values(), ids=HOSTILE_LINES)
def test_no_line_of_a_record_keeps_the_others_from_being_read(
    disk: MachineDisk, line: bytes
) -> None:
    stage = {"stage": "fetch", "at": 1, "took": 2, "outcome": "stopped", "cause": "no answer"}
    lines = [b"", json.dumps(RUN, separators=(",", ":")).encode(), line, json.dumps(stage).encode()]

    assert words_of(disk, b"\n".join(lines) + b"\n") == "stage fetch: no answer"


def test_a_record_of_a_gigabyte_costs_what_its_end_does(disk: MachineDisk) -> None:
    record = path_on(disk, RECORD)
    with record.open("wb") as file:
        file.truncate(1 << 30)  # sparse
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"{}\n" * 100_000)

    begun = time.process_time()
    assert last_words_of(disk, 0, is_running=False) == ""

    assert time.process_time() - begun < 1


def test_what_stopped_a_boot_is_one_line_of_bounded_length() -> None:
    report = BootReport("r", agent="1", layout="fairlead", started="")
    cause = "\x1b[2Jfirst\r\n\u202esecond " + "x" * 60_000
    report.stages.append(StageReport("provision", 0.0, 1.0, "stopped", cause))

    said = failure_text(report)

    assert said.startswith("stage provision: [2Jfirst second xxx")
    assert len(said) == 1203


@pytest.mark.parametrize("name", ["pid", "console.log"])
@pytest.mark.parametrize(("make", "kind"), ODDITIES[:3], ids=[kind for _, kind in ODDITIES[:3]])
def test_nothing_in_a_machines_directory_makes_a_look_at_it_wait_or_leak(
    tmp_path: Path, name: str, make: Callable[[Path], None], kind: str
) -> None:
    machines = DirectoryMachines(tmp_path, agent=["/bin/true"])
    (tmp_path / "m" / "root").mkdir(parents=True)
    make(tmp_path / "m" / name)
    before = open_descriptors()

    for _ in range(5):
        machines.life_of("m")
        machines.last_words("m")
        with suppress(UnavailableError):  # a console that is no file takes no output
            machines.power_on("m", SEED, Fault.NONE)

    assert open_descriptors() == before
    machines.destroy("m")
    assert not (tmp_path / "m").exists()


def test_a_link_in_the_place_of_the_console_empties_nobodys_file(tmp_path: Path) -> None:
    machines = DirectoryMachines(tmp_path / "machines", agent=["/bin/true"])
    precious = tmp_path / "precious"
    with precious.open("wb") as file:
        file.truncate(LARGEST_CONSOLE + 1)
    (tmp_path / "machines" / "m" / "root").mkdir(parents=True)
    (tmp_path / "machines" / "m" / "console.log").symlink_to(precious)

    assert machines.life_of("m") is Life.OFF

    assert precious.stat().st_size == LARGEST_CONSOLE + 1


def nest(place: Path, levels: int) -> None:
    """Make directories in each other, each with a file, whose paths are longer than any may be."""
    here = os.open(place, os.O_RDONLY)
    for _ in range(levels):
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.mkdir("7", dir_fd=here)
        inner = os.open("7", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def test_directories_nested_three_thousand_deep_are_removed(tmp_path: Path) -> None:
    tree = tmp_path / "m"
    for number, levels in enumerate((2, 3000, 2)):
        (tree / str(number)).mkdir(parents=True)
        nest(tree / str(number), levels)
    (tree / "9").symlink_to("/etc")
    sealed = tree / "sealed"
    (sealed / "inner").mkdir(parents=True)
    (sealed / "inner" / "file").touch()
    (sealed / "inner").chmod(0)
    sealed.chmod(0o500)

    remove_tree(tree)

    assert not tree.exists()
