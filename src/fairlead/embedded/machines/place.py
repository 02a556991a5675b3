"""Where machines are on this computer: one directory each, named like the machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fairlead.errors import InputError

ROOT = "root"

NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
LONGEST_NAME = 200


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
    """Afterwards nothing is at the path. A directory that nobody may write to is no obstacle."""
    if not tree.is_symlink() and tree.is_dir():
        _open_up(tree)
        shutil.rmtree(tree)
    else:
        tree.unlink(missing_ok=True)


def _open_up(tree: Path) -> None:
    """Make every directory one that its owner may empty."""
    tree.chmod(0o700)
    for parent, directories, _ in os.walk(tree):
        for name in directories:
            inner = Path(parent) / name
            if not inner.is_symlink():
                inner.chmod(0o700)
