"""The end of an embedded control plane: every machine of either kind, and all state."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fairlead.embedded.machines.directory import DirectoryMachines
from fairlead.embedded.machines.image import UPPER, unmount
from fairlead.embedded.machines.nspawn import stop
from fairlead.embedded.machines.place import list_places, place_of, remove_tree
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.lock import take_lock


def purge(directory: StateDirectory) -> None:
    """
    Destroy the machines, then remove the directory. Raises ConflictError if it is in use.

    The database is not opened: one that cannot be used any more can be removed, too.
    """
    lock = take_lock(directory)
    try:
        for name in list_places(directory.machines):
            if (place_of(directory.machines, name) / UPPER).is_dir():
                _destroy_container(place_of(directory.machines, name).resolve())
            else:
                DirectoryMachines(directory.machines).destroy(name)
        shutil.rmtree(directory.path)
    finally:
        os.close(lock)


def _destroy_container(place: Path) -> None:
    """Destroy a container without its image, which may be gone by now."""
    stop(place)
    unmount(place)
    remove_tree(place)
