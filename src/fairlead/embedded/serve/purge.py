"""
The end of an embedded control plane: every machine of either kind, and all state.

A state directory may hold what is not ours: somebody started a control plane in a folder of their
own, or put pull secrets in place. So only what a control plane makes is removed, each by its
name, no link is followed, and whatever is left is told.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from fairlead.embedded.access.shared import close_doors
from fairlead.embedded.certificates.authority import (
    AUTHORITY_FILE,
    NEXT_AUTHORITY_FILE,
    SERVER_FILE,
)
from fairlead.embedded.machines.directory import DirectoryMachines
from fairlead.embedded.machines.image import UPPER, unmount
from fairlead.embedded.machines.nspawn import stop
from fairlead.embedded.machines.place import ROOT, list_places, place_of, remove_tree
from fairlead.embedded.machines.process import CONSOLE, PID_FILE
from fairlead.embedded.state_directory import SQLITE_ENDS, StateDirectory
from fairlead.embedded.store.claim import holds_depot
from fairlead.embedded.store.lock import take_lock
from fairlead.hotfix.service.ledger_file import LEDGER_FILE, LOCK_FILE
from fairlead.whole_file import is_half

# What a depot holds: docs/howto/a-hotfix-went-wrong.md says which of it is whose.
# What makes it a depot goes last: a purge that was killed can be done again.
DEPOT_ROOMS = ("apt", "rpm", "keys", "metadata")
DEPOT_FILES = (
    "catalog.json",
    ".lock",
    LOCK_FILE,
    *(f"{LEDGER_FILE}{end}" for end in ("", *SQLITE_ENDS)),
)


def purge(directory: StateDirectory) -> tuple[Path, ...]:
    """
    Destroy the machines, then remove every file; return what is left, because it is not ours.

    Raises ConflictError if it is in use. The database is not opened: one that cannot be used any
    more can be removed, too. The lock goes last: killed before, it can be done again.
    """
    lock = take_lock(directory)
    try:
        if _is_room(directory.machines):
            for name in list_places(directory.machines):
                _destroy(directory, name)
        close_doors(directory)
        _remove_depot(directory)
        _remove_files(directory)
        for place in (*directory.directories(), directory.path):
            if _is_room(place):
                with suppress(OSError):  # it holds something
                    place.rmdir()
    finally:
        os.close(lock)
    return _left(directory)


def _remove_files(directory: StateDirectory) -> None:
    if _is_room(directory.certificates):
        for name in (AUTHORITY_FILE, NEXT_AUTHORITY_FILE, SERVER_FILE):
            _remove_file(directory.certificates / name)
    for place in (*directory.directories(), directory.path):
        _remove_halves(place)
    for file in (directory.shared_socket, *directory.files()):
        _remove_file(file)


def _remove_depot(directory: StateDirectory) -> None:
    """Remove the depot of hotfixes, if it is one, and keys of it that nobody took away."""
    depot, keys = directory.hotfix, directory.hotfix_keys
    if _is_room(depot) and holds_depot(directory):
        files = [depot / name for name in DEPOT_FILES]
        files += [keys / "release.pem", *sorted(keys.glob("root-*.pem"))] if _is_room(keys) else []
        for file in files:
            _remove_file(file)
        for room in (keys, depot):
            _remove_halves(room)
        for room in [depot / name for name in DEPOT_ROOMS]:
            if _is_room(room):
                remove_tree(room)
    for room in (depot, keys):
        if _is_room(room):
            with suppress(OSError):  # it holds something
                room.rmdir()


def _destroy(directory: StateDirectory, name: str) -> None:
    """Destroy a machine; what is no machine stays."""
    found = directory.machines / name
    if not _is_room(found) or not _is_machine(found):
        return
    place = place_of(directory.machines, name)
    if (place / UPPER).is_dir():
        _destroy_container(place.resolve())
    else:
        DirectoryMachines(directory.machines).destroy(name)


def _is_machine(place: Path) -> bool:
    """Say whether this is what the edge makes of a machine, from its first moment on."""
    names = {path.name for path in place.iterdir()}
    return not names or bool(names & {ROOT, UPPER, PID_FILE, CONSOLE})


def _destroy_container(place: Path) -> None:
    """Destroy a container without its image, which may be gone by now."""
    stop(place)
    unmount(place)
    remove_tree(place)


def _is_room(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove_file(file: Path) -> None:
    """Remove a file or a socket; a link that took its place is not ours."""
    if not file.is_symlink() and not file.is_dir():
        file.unlink(missing_ok=True)


def _remove_halves(place: Path) -> None:
    if _is_room(place):
        for path in place.iterdir():
            if is_half(path.name):
                _remove_file(path)


def _left(directory: StateDirectory) -> tuple[Path, ...]:
    """Return what is left, the rooms of ours as what they hold."""
    left: list[Path] = []
    for path in sorted(directory.path.iterdir()) if directory.path.is_dir() else []:
        inside = (
            sorted(path.iterdir()) if path in directory.directories() and _is_room(path) else []
        )
        left += inside or [path]
    return tuple(left)
