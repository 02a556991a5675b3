"""
Whose a state directory is: ours, nobody's yet, or somebody else's.

Whatever is in it is trusted: tokens, keys, programs' disks. So it must belong to whoever runs the
control plane, nobody else may write to it, and nothing in it may lead elsewhere. And since it is
removed with the control plane, a directory with other people's files in it never becomes one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fairlead.embedded.state_directory import VARIABLE, StateDirectory
from fairlead.embedded.store.watermark import Mark, draw_mark, find_mark, write_mark
from fairlead.errors import InputError
from fairlead.telling.errno_text import os_problem
from fairlead.whole_file import is_half

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

# Names of strange files that are told.
MOST_NAMES = 3


def claim(directory: StateDirectory) -> None:
    """
    Afterwards the directory is a control plane's. Raises InputError if it must not become one.

    Whoever holds its lock then reads its mark, which is what marks it as ours.
    """
    if directory.path.exists():
        refuse_unsafe(directory)
        _refuse_strange(directory)
    try:
        directory.make()
    except OSError as error:
        hint = f"keep the state elsewhere: --state DIRECTORY, or {VARIABLE}"
        raise InputError(os_problem(error), hint=hint) from error
    refuse_unsafe(directory)


def is_ours(directory: StateDirectory) -> bool:
    """Say whether a control plane was ever here. One of an earlier release left no watermark."""
    return directory.watermark.exists() or directory.database.exists()


def holds_depot(directory: StateDirectory) -> bool:
    """
    Say whether the directory for the depot of hotfixes is one: anybody may call a folder `hotfix`.

    As Depot.exists says it, without what it takes to sign.
    """
    return (directory.hotfix / "metadata" / "update.json").is_file()


def read_mark(directory: StateDirectory) -> Mark:
    """
    Return how far the database must go; the first time a mark is drawn. For whoever has the lock.

    Raises InputError if the mark cannot be read, or the database is gone altogether.
    """
    mark = find_mark(directory.watermark)
    if mark is None:
        mark = draw_mark()
        write_mark(directory.watermark, mark)
    if mark.number and not directory.database.exists():
        raise InputError(
            f"the database {directory.database} is gone, and {mark.number} writes were made to it",
            hint="machines run on untouched; `fairlead restore FILE --over` goes back to a "
            "backup, `fairlead down --purge` removes the machines and everything else",
        )
    return mark


def _refuse_strange(directory: StateDirectory) -> None:
    """Raise InputError if the directory holds what is not ours, and no control plane."""
    if is_ours(directory):
        return
    # Somebody may put pull secrets and roles in place before the first start, or make a depot; a
    # start that was killed early leaves a lock, a log, a socket or half a file.
    ours = (directory.lock, directory.log, directory.socket, directory.shared_socket)
    depot = (directory.hotfix, directory.hotfix_keys) if holds_depot(directory) else ()
    allowed = (directory.secrets, directory.roles, *depot, *ours)
    strange = sorted(
        path.name
        for path in directory.path.iterdir()
        if path not in allowed and not is_half(path.name) and not _is_empty_room(directory, path)
    )
    if strange:
        more = " ..." if len(strange) > MOST_NAMES else ""
        raise InputError(
            f"{directory.path} is no control plane's and not empty: it has "
            f"{', '.join(strange[:MOST_NAMES])}{more}",
            hint="choose a directory of its own: --state DIR or FAIRLEAD_STATE",
        )


def refuse_unsafe(directory: StateDirectory) -> None:
    """Raise InputError if somebody else could put something here, or something leads elsewhere."""
    _refuse_others(directory.path, directory.path.stat())
    depot = (directory.hotfix, directory.hotfix_keys)
    for path in (*directory.directories(), *depot, *directory.files(), *_certificates(directory)):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(found.st_mode):
            raise InputError(
                f"{path} is a link, and a control plane keeps its files where it is",
                hint="put what it leads to in its place, or choose another --state",
            )
        _refuse_others(path, found)


def _refuse_others(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise InputError(
            f"{path} belongs to user {found.st_uid}, and this is user {os.geteuid()}",
            hint="run it as that user, or choose another --state",
        )
    if found.st_mode & OTHERS_MAY_WRITE:
        raise InputError(
            f"others may write to {path}: its mode is {stat.S_IMODE(found.st_mode):04o}",
            hint=f"look at what is in it, then: chmod go-w {path}",
        )


def _certificates(directory: StateDirectory) -> list[Path]:
    try:
        return sorted(directory.certificates.iterdir())
    except OSError:
        return []


def _is_empty_room(directory: StateDirectory, path: Path) -> bool:
    rooms = (*directory.directories(), directory.hotfix, directory.hotfix_keys)
    is_room = path in rooms and path.is_dir() and not path.is_symlink()
    return is_room and not any(path.iterdir())
