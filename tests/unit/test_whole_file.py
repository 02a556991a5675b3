"""A file of the control plane is as it was, or as it is to be, whatever happens in between."""

import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from fairlead.whole_file import write_whole

BEFORE = b"before" * 1000
AFTER = b"after" * 2000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kept"
    path.write_bytes(BEFORE)
    return path


@contextmanager
def before_each_operation(act: Callable[[str], None]) -> Iterator[None]:
    """Whatever is done to the system inside is told first, by the name of its function."""

    def tell(_: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called.__module__ in ("posix", "fcntl"):
            sys.setprofile(None)
            act(called.__name__)
            sys.setprofile(tell)

    sys.setprofile(tell)
    try:
        yield
    finally:
        sys.setprofile(None)


def in_a_process(work: Callable[[], None]) -> int:
    """Start this work in a process of its own, which ends with 0 if nothing is raised."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def write_and_stop_before(file: Path, number: int, end: signal.Signals) -> int:
    """Start a process that writes the file, and signals itself before its n-th operation."""

    def work() -> None:
        left = number

        def count(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), end)

        with before_each_operation(count):
            write_whole(file, AFTER)

    return in_a_process(work)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Inside, a file ends there as on a disk that is full. Python ignores the signal for it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def umask(mask: int) -> Iterator[None]:
    earlier = os.umask(mask)
    try:
        yield
    finally:
        os.umask(earlier)


def names_beside(file: Path) -> list[str]:
    return sorted(entry.name for entry in file.parent.iterdir())


# Whole or not at all.


def test_killed_before_any_operation_the_file_is_as_before_or_whole_and_the_next_write_tidies_up(
    file: Path,
) -> None:
    seen, operations, ended = set(), 0, False
    while not ended:
        operations += 1
        file.write_bytes(BEFORE)
        _, status = os.waitpid(write_and_stop_before(file, operations, signal.SIGKILL), 0)
        ended = os.WIFEXITED(status)
        assert file.read_bytes() in (BEFORE, AFTER), operations
        seen.add((file.read_bytes(), len(names_beside(file))))

        write_whole(file, b"next")
        assert file.read_bytes() == b"next"
        assert names_beside(file) == ["kept"], operations

    assert os.WEXITSTATUS(status) == 0
    assert seen == {(BEFORE, 1), (BEFORE, 2), (AFTER, 1)}
    assert operations > 8


def test_it_is_on_the_disk_before_it_has_its_name_and_then_its_name_is(file: Path) -> None:
    told: list[str] = []
    with before_each_operation(told.append):
        write_whole(file, AFTER)

    steps = [name for name in told if name in ("write", "fsync", "rename")]
    assert steps == ["write", "fsync", "rename", "fsync"]


def test_a_full_disk_leaves_the_earlier_content_and_nothing_else(file: Path) -> None:
    with largest_file(4096), pytest.raises(OSError, match="File too large") as refused:
        write_whole(file, AFTER)

    assert (refused.value.errno, refused.value.filename) == (errno.EFBIG, str(file))
    assert file.read_bytes() == BEFORE
    assert names_beside(file) == ["kept"]


def test_a_write_that_takes_a_part_is_continued(file: Path) -> None:
    writes = 0

    def make_room(name: str) -> None:
        nonlocal writes
        writes += name == "write"
        if writes == 2:
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (len(AFTER), resource.getrlimit(resource.RLIMIT_FSIZE)[1])
            )

    with largest_file(4096), before_each_operation(make_room):
        write_whole(file, AFTER)

    assert writes == 2
    assert file.read_bytes() == AFTER


def test_what_stands_in_the_way_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()

    with pytest.raises(IsADirectoryError) as refused:
        write_whole(tmp_path / "directory", AFTER)
    with pytest.raises(FileNotFoundError) as missing:
        write_whole(tmp_path / "nowhere" / "file", AFTER)

    assert str(refused.value) == f"[Errno 21] Is a directory: '{tmp_path}/directory'"
    assert str(missing.value) == f"[Errno 2] No such file or directory: '{tmp_path}/nowhere/file'"
    assert names_beside(tmp_path / "directory") == ["directory"]


def test_interrupted_by_the_keyboard_nothing_is_left(file: Path) -> None:
    def interrupt(name: str) -> None:
        if name == "fsync":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), before_each_operation(interrupt):
        write_whole(file, AFTER)

    assert file.read_bytes() == BEFORE
    assert names_beside(file) == ["kept"]


# Who may read it.


def test_nobody_else_can_read_it_at_any_moment(tmp_path: Path) -> None:
    modes: set[int] = set()

    def look(_: str) -> None:
        modes.update(entry.stat().st_mode & 0o777 for entry in tmp_path.iterdir())

    with umask(0), before_each_operation(look):
        write_whole(tmp_path / "kept", AFTER)
    look("")

    assert modes == {0o600}


def test_its_mode_is_the_one_asked_for_whatever_the_umask(file: Path) -> None:
    with umask(0o077):
        write_whole(file, AFTER, 0o644)

    assert file.stat().st_mode & 0o777 == 0o644


def test_a_link_is_replaced_and_what_it_leads_to_stays(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file)

    write_whole(link, AFTER)

    assert (link.is_symlink(), link.read_bytes(), file.read_bytes()) == (False, AFTER, BEFORE)


def test_a_link_at_the_name_beside_it_is_not_followed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", bytes)  # so that the name is known in advance
    (tmp_path / ".next.00000000.fairlead-half").symlink_to(file)
    (tmp_path / ".more.00000000.fairlead-half").symlink_to(tmp_path / "nowhere")

    for name in ("next", "more"):
        with pytest.raises(FileExistsError):
            write_whole(tmp_path / name, AFTER)

    assert file.read_bytes() == BEFORE
    assert not (tmp_path / "nowhere").exists()


# More than one writer.


def test_writers_at_the_same_time_leave_one_whole_content_and_nobody_fails(file: Path) -> None:
    contents = [letter * 200_000 for letter in (b"a", b"b", b"c", b"d")]

    def write_often(content: bytes) -> None:
        for _ in range(25):
            write_whole(file, content)

    living = [in_a_process(partial(write_often, content)) for content in contents]
    codes: list[int] = []
    while living:
        assert file.read_bytes() in (BEFORE, *contents)
        ended, status = os.waitpid(living[0], os.WNOHANG)
        if ended:
            codes.append(status)
            living.remove(ended)

    assert codes == [0, 0, 0, 0]
    assert file.read_bytes() in contents
    assert names_beside(file) == ["kept"]


def test_what_a_living_writer_has_begun_is_not_tidied_up(file: Path) -> None:
    told: list[str] = []
    with before_each_operation(told.append):
        write_whole(file, BEFORE)
    writer = write_and_stop_before(file, told.index("rename") + 1, signal.SIGSTOP)
    os.waitpid(writer, os.WUNTRACED)

    write_whole(file, b"between")
    assert (file.read_bytes(), len(names_beside(file))) == (b"between", 2)

    os.kill(writer, signal.SIGCONT)
    assert os.waitpid(writer, 0)[1] == 0
    assert file.read_bytes() == AFTER
    assert names_beside(file) == ["kept"]


def test_only_files_of_ours_that_nobody_writes_are_tidied_up(file: Path, tmp_path: Path) -> None:
    (tmp_path / ".kept.0123abcd.fairlead-half").write_bytes(b"half")
    kept = {
        ".kept.half", ".kept.0123abcd", ".kept.0123abcx.fairlead-half",
        ".kept-0123abcd.fairlead-half", ".other.0123abcd.fairlead-half",
    }  # fmt: skip
    for name in kept:
        (tmp_path / name).write_bytes(b"somebody's")
    os.mkfifo(tmp_path / ".kept.11111111.fairlead-half")
    (tmp_path / ".kept.22222222.fairlead-half").mkdir()
    (tmp_path / ".kept.33333333.fairlead-half").symlink_to(tmp_path / ".kept.half")

    write_whole(file, AFTER)

    assert set(names_beside(file)) == kept | {
        "kept", ".kept.11111111.fairlead-half", ".kept.22222222.fairlead-half",
        ".kept.33333333.fairlead-half",
    }  # fmt: skip
