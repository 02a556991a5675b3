"""Files that pools name: read when they changed and rest, and never waited for."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fairlead.embedded.store.secret_files import SecretFiles

ONE = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
TWO = "sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"


@pytest.fixture
def files(tmp_path: Path) -> SecretFiles:
    return SecretFiles(tmp_path)


def write(path: Path, text: str, age_s: float = 60.0) -> None:
    """Write a file that was left alone for so long."""
    path.write_text(text)
    os.utime(path, (time.time() - age_s,) * 2)


def test_a_change_is_seen_at_the_next_look_and_not_before(
    files: SecretFiles, tmp_path: Path
) -> None:
    write(tmp_path / "login", "one")
    assert files.seen("login").digest == ONE
    number = files.look()

    write(tmp_path / "login", "two")

    assert (files.seen("login").digest, files.present("login").digest) == (ONE, TWO)
    assert files.look() == number + 1
    assert files.seen("login").digest == TWO
    assert files.look() == number + 1


def test_a_file_that_is_being_written_is_left_alone_until_it_rests(
    files: SecretFiles, tmp_path: Path
) -> None:
    write(tmp_path / "login", "one")
    files.seen("login")
    number = files.look()
    write(tmp_path / "login", "tw", age_s=0.0)
    assert (files.look(), files.seen("login").digest) == (number, ONE)

    write(tmp_path / "login", "two", age_s=2.0)

    assert (files.look(), files.seen("login").digest) == (number + 1, TWO)


def test_what_was_first_seen_while_it_was_written_is_read_again_once_it_rests(
    files: SecretFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second write within one tick of the clock leaves the same stat."""
    path = tmp_path / "login"
    write(path, "two", age_s=0.0)
    files.seen("login")
    monkeypatch.setattr(files, "read", lambda _name: b"one")

    assert files.look() == 0
    time.sleep(max(0.0, path.stat().st_mtime + 1.01 - time.time()))

    assert (files.look(), files.seen("login").digest) == (1, ONE)


def test_a_file_that_rests_is_read_once(
    files: SecretFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "login", "one")
    files.seen("login")
    files.look()

    def unread(name: str) -> bytes:
        raise AssertionError(f"{name} was read again")

    monkeypatch.setattr(files, "read", unread)

    assert [files.look(), files.look()] == [0, 0]
    assert (files.seen("login").digest, files.present("login").digest) == (ONE, ONE)


def test_a_file_that_comes_or_goes_is_a_change(files: SecretFiles, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.seen("login")
    assert files.look() == 0

    write(tmp_path / "login", "one")
    with pytest.raises(FileNotFoundError):
        files.seen("login")
    assert (files.look(), files.seen("login").digest) == (1, ONE)

    (tmp_path / "login").unlink()
    assert files.seen("login").digest == ONE
    assert files.look() == 2
    with pytest.raises(FileNotFoundError):
        files.seen("login")


def test_a_file_that_was_only_touched_is_no_change(files: SecretFiles, tmp_path: Path) -> None:
    write(tmp_path / "login", "one")
    files.seen("login")

    write(tmp_path / "login", "one", age_s=30.0)

    assert files.look() == 0


def test_a_pipe_of_that_name_stops_nobody(files: SecretFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "login")

    with pytest.raises(OSError, match="it is not a file"):
        files.present("login")
    with pytest.raises(OSError, match="it is not a file"):
        files.seen("login")
    assert files.look() == 0


@pytest.mark.parametrize("name", ["../fairlead.db", "/etc/hostname", "..", ".", "a/b", "a\0"])
def test_a_name_that_leads_elsewhere_is_not_looked_at(files: SecretFiles, name: str) -> None:
    for ask in (files.read, files.present, files.seen):
        with pytest.raises(ValueError, match=r".*"):
            ask(name)
    assert files.look() == 0


def test_a_file_that_no_machine_could_fetch_is_not_read_whole(
    files: SecretFiles, tmp_path: Path
) -> None:
    write(tmp_path / "login", "x" * (1 << 20))
    assert files.seen("login").unfit["pullSecret"].startswith("is no JSON")
    os.truncate(tmp_path / "login", 1 << 40)
    os.utime(tmp_path / "login", (time.time() - 60.0,) * 2)

    files.look()

    for ask in (files.seen, files.present):
        with pytest.raises(OSError, match="it has more than 1 MiB"):
            ask("login")
