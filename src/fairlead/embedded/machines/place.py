"""Where machines are on this computer: one directory each, named like the machine."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fairlead.errors import InputError

ROOT = "root"

NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
LONGEST_NAME = 200

OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def place_of(directory: Path, machine: str) -> Path:
    """Return the machine's directory, which need not exist. Raises InputError for such a name."""
    is_plain = not machine.strip(NAME_CHARACTERS) and len(machine) <= LONGEST_NAME
    if not machine or machine.startswith((".", "-")) or not is_plain:
        raise InputError(
            f"{machine!r} cannot name a machine",
            hint=f"letters, digits, - and ., a letter or digit first, at most {LONGEST_NAME}",
        )
    return directory / machine


def list_places(directory: Path) -> tuple[str, ...]:
    """Return the names of all machines that have something here, sorted."""
    try:
        return tuple(sorted(entry.name for entry in directory.iterdir()))
    except FileNotFoundError:
        return ()


def remove_tree(tree: Path) -> None:
    """
    Afterwards nothing is at the path. A directory that nobody may write to is no obstacle.

    A machine may have nested directories deeper than any path or any call goes, so they are taken
    out of each other: what is in a directory moves up to the top before the directory goes.
    """
    if tree.is_symlink() or not tree.is_dir():
        tree.unlink(missing_ok=True)
        return
    tree.chmod(0o700)
    top = os.open(tree, OPEN_DIRECTORY)
    try:
        moved = 0
        while found := os.listdir(top):  # noqa: PTH208 - of a descriptor
            for name in found:
                moved = _remove_entry(top, name, moved)
    finally:
        os.close(top)
    tree.rmdir()


def _remove_entry(top: int, name: str, moved: int) -> int:
    """Remove one entry of the top; directories in it go up there, under numbers from `moved`."""
    if not _is_directory(name, top):
        os.unlink(name, dir_fd=top)
        return moved
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, OPEN_DIRECTORY, dir_fd=top)
    try:
        for entry in os.listdir(inner):  # noqa: PTH208
            if _is_directory(entry, inner):
                os.chmod(entry, 0o700, dir_fd=inner)
                moved = _free_number(top, moved)
                os.rename(entry, str(moved), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
    return moved


def _is_directory(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _free_number(top: int, number: int) -> int:
    """Return the next number that names nothing in the top."""
    while True:
        number += 1
        try:
            os.stat(str(number), dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:
            return number
