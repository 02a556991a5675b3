"""What a control plane says costs bounded room, is said once, and never ends it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.embedded.serve.log import Log, LogStream, rotated, shortened


def open_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def test_a_trouble_is_told_once_and_so_is_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()

    for _ in range(100):
        log.trouble("machines", "the disk is full")
    log.trouble("machines", "the disk hangs")
    log.is_well("machines")
    log.is_well("machines")

    assert capsys.readouterr().err.splitlines() == [
        "fairlead: machines: the disk is full",
        "fairlead: machines: the disk hangs",
        "fairlead: machines: works again",
    ]


def test_what_is_said_at_once_takes_no_more_than_its_share() -> None:
    said = shortened("first " + "x" * 200_000 + " last")

    assert len(said) < 8100
    assert said.startswith("first ")
    assert said.endswith(" last")
    assert "... 192011 characters left out ..." in said


def test_a_disk_that_is_full_takes_no_line_and_ends_nothing() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    stream = LogStream(full, None)

    assert [stream.write("one\ntwo\n") for _ in range(3)] == [8, 8, 8]

    os.close(full)


def test_lines_that_were_lost_are_counted_when_there_is_room_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    descriptor, full = open_log(log), os.open("/dev/full", os.O_WRONLY)
    stream, kept = LogStream(full, None), os.dup(full)
    stream.write("one\ntwo\n")
    stream.write("three\n")

    os.dup2(descriptor, full)
    stream.write("four\n")
    stream.write("five\n")

    assert log.read_text() == "fairlead: 3 lines were lost, the disk took none\nfour\nfive\n"
    for number in (descriptor, full, kept):
        os.close(number)


# In a process of its own: stdout and stderr go over to the new file.
TALKER = """
import sys
from pathlib import Path
from fairlead.embedded.serve import log
log.LogStream.__init__.__defaults__ = (10_000,)
log.keep_log(Path(sys.argv[1]))
for number in range(1000):
    print(f"line {number:04} " + "x" * 90)
sys.stderr.write("the end\\n")
"""


def talk(log: Path, out: Path) -> subprocess.CompletedProcess[bytes]:
    with out.open("ab") as file:
        return subprocess.run(
            [sys.executable, "-c", TALKER, str(log)], stdout=file, stderr=file, check=False
        )


def test_the_log_rotates_by_size_and_keeps_the_one_before(tmp_path: Path) -> None:
    log = tmp_path / "control-plane.log"

    assert talk(log, log).returncode == 0

    assert sorted(path.name for path in tmp_path.iterdir()) == [log.name, f"{log.name}.1"]
    assert log.stat().st_size <= 10_000
    assert rotated(log).stat().st_size <= 10_000
    assert log.read_text().endswith("the end\n")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    last = [line[5:9] for line in (rotated(log).read_text() + log.read_text()).splitlines()[:-1]]
    assert last == [f"{number:04}" for number in range(1000 - len(last), 1000)]


def test_a_file_that_is_not_our_log_is_never_rotated(tmp_path: Path) -> None:
    out = tmp_path / "somebody's own"

    talk(tmp_path / "control-plane.log", out)

    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.stat().st_size > 100_000


def test_a_full_disk_under_stdout_and_stderr_ends_no_process(tmp_path: Path) -> None:
    assert talk(tmp_path / "control-plane.log", Path("/dev/full")).returncode == 0
