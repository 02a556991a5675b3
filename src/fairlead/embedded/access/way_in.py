"""
How a command of somebody else reaches a control plane: through a door that is open to them.

Whoever answers must be the owner of the state directory, or root: a door that somebody else put up
beside it would be told everything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from fairlead.embedded.access.peer import ROOT, peer_of, user_name
from fairlead.embedded.access.shared import SOCKET, door_names
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import InputError


def connect_as_guest(
    directory: StateDirectory, connect: Callable[[Path], socket.socket]
) -> socket.socket:
    """
    Return a connection through the first door that is open to this process.

    Raises InputError if none is, and OSError if nobody listens behind it.
    """
    owner = _owner_of(directory)
    for name in door_names(os.geteuid(), {os.getegid(), *os.getgroups()}):
        try:
            connection = connect(directory.shared / name / SOCKET)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        if peer_of(connection).uid in (owner, ROOT):
            return connection
        connection.close()
    raise no_way_in(directory)


def no_way_in(directory: StateDirectory) -> InputError:
    """Return the error for somebody without a role."""
    me, owner = user_name(os.geteuid()), user_name(_owner_of(directory))
    return InputError(
        f"{me} has no role in the control plane of {directory.path}",
        hint=f"{owner}, who owns it, can give one: a line in {directory.roles}",
    )


def _owner_of(directory: StateDirectory) -> int:
    return directory.path.stat().st_uid
