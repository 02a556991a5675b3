"""
Who is at the other end of a Unix socket, as the kernel says: nobody can claim to be another.

The kernel keeps user and groups of the moment of connecting, so a connection that is handed on
speaks for whoever opened it.
"""

from __future__ import annotations

import grp
import os
import pwd
import socket
import struct
from dataclasses import dataclass

ROOT = 0

# Linux 4.13; Python has no name for it.
SO_PEERGROUPS = 59

# What Python lets getsockopt return at most, so 256 groups. Who is in more is looked up.
MOST_BYTES = 1024

_CREDENTIALS = struct.Struct("iII")  # process, user, group


@dataclass(frozen=True, slots=True)
class Peer:
    """One user of this computer, by number, with the groups that the connecting process had."""

    uid: int
    groups: frozenset[int]


def peer_of(connection: socket.socket) -> Peer:
    """Return who opened the other end of a connection; or who listens there."""
    size = _CREDENTIALS.size
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, gid = _CREDENTIALS.unpack(found)
    return Peer(uid, frozenset((gid, *_further_groups(connection, uid, gid))))


def _further_groups(connection: socket.socket, uid: int, gid: int) -> tuple[int, ...]:
    try:
        found = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, MOST_BYTES)
    except OSError:
        try:
            return tuple(os.getgrouplist(pwd.getpwuid(uid).pw_name, gid))
        except KeyError:
            return ()
    return struct.unpack(f"{len(found) // 4}I", found)


def user_name(uid: int) -> str:
    """Return a user's name, or the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def find_user(name: str) -> int | None:
    """Return the number of a user, or None. A number stands for itself."""
    if name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def find_group(name: str) -> int | None:
    """Return the number of a group, or None. A number stands for itself."""
    if name.isdigit():
        return int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None
