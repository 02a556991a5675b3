"""
Doors for other users: a directory for each group or user that has a role, with a link in it.

The state directory lets nobody in but its owner, and stays so. Beside it, in a directory that all
may pass through and none may list, each group that a role names has a directory which only that
group may enter, with a second name of the one shared socket. Who comes through such a door is
asked for a role all the same: the doors keep strangers away from the control plane, the roles
say what it does for whom.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from fairlead.embedded.access.roles import GROUP, Grant, read_roles
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import InputError
from fairlead.telling.errno_text import problem_text

SOCKET = "api.sock"
PASS_THROUGH = 0o711
GROUP_ONLY = 0o710
USER_ONLY = 0o500
CLOSED = 0o700


class DoorKeeper:
    """Keeps the doors of a running control plane as its roles say. tell: takes what fails."""

    def __init__(self, directory: StateDirectory, tell: Callable[[str], None]) -> None:
        self._directory = directory
        self._tell = tell
        self._seen: tuple[int, ...] | None = None

    def look(self) -> None:
        """Open and close doors, if the roles were written since the last look."""
        if (found := _stamp_of(self._directory.roles)) == self._seen:
            return
        self._seen = found
        for problem in keep_doors(self._directory):
            self._tell(problem)


def keep_doors(directory: StateDirectory) -> list[str]:
    """Afterwards the doors are as the roles say; return what could not be done, and why."""
    try:
        grants = read_roles(directory)
    except InputError as error:
        close_doors(directory)
        return [f"no other user is let in: {error}"]
    return open_doors(directory, grants)


def _stamp_of(file: Path) -> tuple[int, ...]:
    try:
        found = file.lstat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def door_names(uid: int, groups: Iterable[int]) -> list[str]:
    """Return the names of the doors that somebody may find open."""
    return [f"user-{uid}", *(f"group-{group}" for group in sorted(groups))]


def open_doors(directory: StateDirectory, grants: Iterable[Grant]) -> list[str]:
    """Afterwards those, and only those, have a door that these lines name. Return what failed."""
    wanted: dict[str, Grant] = {}
    problems = []
    for grant in grants:
        number = grant.find_number()
        if number is None:
            problems.append(f"{_place(directory, grant)}: there is no {grant.kind} {grant.name}")
        else:
            wanted[f"{grant.kind}-{number}"] = grant
    if not wanted:
        close_doors(directory)
        return problems
    try:
        _make_passage(directory)
        _close_others(directory, wanted)
    except (OSError, InputError) as error:
        return [*problems, f"no other user is let in: {problem_text(error)}"]
    for name, grant in wanted.items():
        try:
            _open_door(directory, directory.shared / name, grant)
        except OSError as error:
            problems.append(f"{_place(directory, grant)}: {_why_closed(grant, error)}")
    return problems


def close_doors(directory: StateDirectory) -> None:
    """Afterwards there is no door. What is not ours stays."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError, InputError):
        _refuse_foreign(directory)
        _close_others(directory, ())
        with suppress(OSError):  # it holds something
            directory.shared.rmdir()


def _make_passage(directory: StateDirectory) -> None:
    with suppress(FileExistsError):
        directory.shared.mkdir(mode=CLOSED)
    _refuse_foreign(directory)
    directory.shared.chmod(PASS_THROUGH)


def _refuse_foreign(directory: StateDirectory) -> None:
    """Raise InputError if somebody else could have put something there."""
    found = directory.shared.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not is_ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(
            "is no directory that only its owner writes to",
            field=str(directory.shared),
            hint="move it away",
        )


def _close_others(directory: StateDirectory, wanted: Iterable[str]) -> None:
    for door in directory.shared.iterdir():
        if door.name not in wanted and door.name.startswith(("group-", "user-")):
            shutil.rmtree(door, ignore_errors=True)


def _open_door(directory: StateDirectory, door: Path, grant: Grant) -> None:
    """Open to the group or user first, link last: nobody finds a socket who may not enter."""
    number = int(door.name.partition("-")[2])
    is_group = grant.kind == GROUP
    with suppress(FileExistsError):
        door.mkdir(mode=CLOSED)
    link, mode = door / SOCKET, GROUP_ONLY if is_group else USER_ONLY
    found = door.lstat()
    if (found.st_gid if is_group else found.st_uid) != number:
        os.chown(door, -1 if is_group else number, number if is_group else -1)
    if stat.S_IMODE(door.lstat().st_mode) != mode:
        door.chmod(mode)
    if not _is_same(link, directory.shared_socket):
        link.unlink(missing_ok=True)
        os.link(directory.shared_socket, link, follow_symlinks=False)


def _is_same(link: Path, socket: Path) -> bool:
    try:
        return os.path.samestat(link.lstat(), socket.lstat())
    except FileNotFoundError:
        return False


def _why_closed(grant: Grant, error: OSError) -> str:
    if isinstance(error, PermissionError) and grant.kind != GROUP:
        return (
            f"only a control plane of root can let in one user ({grant.name}); "
            "give the role to a group instead"
        )
    if isinstance(error, PermissionError):
        return (
            f"the group {grant.name} cannot be let in: whoever runs the control plane must be in it"
        )
    return f"the {grant.kind} {grant.name} cannot be let in: {error.strerror}"


def _place(directory: StateDirectory, grant: Grant) -> str:
    return f"{directory.roles} line {grant.line}"
