"""
Roles, and the file that gives them: `roles` in the state directory, one line for each.

    fairlead-viewer      group ops
    fairlead-pool-owner  group payments
    fairlead-platform    user  alice

The file is read at every request of somebody else, so a role that is taken away is gone at once.
One that has a mistake, or that others could write, gives no role to anybody. Whoever owns the
state directory, and root, need none.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from fairlead.answers.words import Role
from fairlead.embedded.access.peer import ROOT, Peer, find_group, find_user, user_name
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import InputError
from fairlead.inputs.shape import kind_of

LARGEST_FILE = 64 * 1024
LONGEST_NAME = 256
# The kernel takes the next number for "nobody in particular".
LARGEST_NUMBER = 2**32 - 2

GROUP, USER = "group", "user"
_EXPECTED = "a role, then `group` or `user`, then a name"


@dataclass(frozen=True, slots=True)
class Grant:
    """One line: a role for a group or a user. kind: GROUP or USER."""

    line: int
    role: Role
    kind: str
    name: str

    def find_number(self) -> int | None:
        """Return the number of the group or the user, or None if there is none of this name."""
        return find_group(self.name) if self.kind == GROUP else find_user(self.name)

    def is_for(self, peer: Peer) -> bool:
        """Say whether this line is about somebody."""
        number = self.find_number()
        return number in peer.groups if self.kind == GROUP else number == peer.uid


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """
    Somebody before this control plane.

    role: the highest that they have, or None. because: why they have it. problem: why nobody but
    the owner has one, or ''.
    """

    name: str
    role: Role | None
    because: str = ""
    problem: str = ""

    def may(self, role: Role) -> bool:
        """Say whether they may do what needs this role: each may what the one before it may."""
        order = list(Role)
        return self.role is not None and order.index(self.role) >= order.index(role)


def standing_of(peer: Peer, directory: StateDirectory) -> Standing:
    """Return what somebody is to the control plane that this process is."""
    name = user_name(peer.uid)
    if peer.uid in (os.geteuid(), ROOT):
        because = "owns the state directory" if peer.uid == os.geteuid() else "is root"
        return Standing(name=name, role=Role.PLATFORM, because=because)
    try:
        given = [grant for grant in read_roles(directory) if grant.is_for(peer)]
    except InputError as error:
        return Standing(name=name, role=None, problem=str(error))
    if not given:
        return Standing(name=name, role=None)
    best = max(given, key=lambda grant: list(Role).index(grant.role))
    return Standing(name=name, role=best.role, because=f"{best.kind} {best.name}")


def read_roles(directory: StateDirectory) -> tuple[Grant, ...]:
    """Return the lines of the file; none if there is no file. Raises InputError by line."""
    path = directory.roles
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ()
    except OSError as error:
        hint = "it must be a plain file" if path.is_symlink() else ""
        raise InputError(f"cannot be read: {error.strerror}", field=str(path), hint=hint) from error
    try:
        _refuse_foreign(os.fstat(descriptor), directory)
        text = os.read(descriptor, LARGEST_FILE + 1)
    finally:
        os.close(descriptor)
    if len(text) > LARGEST_FILE:
        raise InputError(f"has more than {LARGEST_FILE} bytes", field=str(path))
    return parse_roles(text, str(path))


def parse_roles(text: bytes, field: str = "roles") -> tuple[Grant, ...]:
    """Return the lines of a text. Raises InputError with the number of the first that is wrong."""
    grants = []
    for number, line in enumerate(text.split(b"\n"), 1):
        where = f"{field} line {number}"
        try:
            words = line.decode("ascii").partition("#")[0].split()
        except UnicodeDecodeError as error:
            raise InputError("found what is not ASCII", field=where) from error
        if words:
            grants.append(_parse_line(number, words, where))
    return tuple(grants)


def _parse_line(number: int, words: list[str], where: str) -> Grant:
    roles = {role.value: role for role in Role}
    if len(words) != 3:  # noqa: PLR2004 - role, kind, name
        raise InputError(f"found {len(words)} words, expected {_EXPECTED}", field=where)
    role, kind, name = words
    if role not in roles:
        raise InputError(f"found {kind_of(role)}, expected {', '.join(roles)}", field=where)
    if kind not in (GROUP, USER):
        raise InputError(f"found {kind_of(kind)}, expected `group` or `user`", field=where)
    is_number = name.isdigit()
    if len(name) > LONGEST_NAME or (is_number and int(name) > LARGEST_NUMBER):
        raise InputError(f"found {kind_of(name)}, expected the name of a {kind}", field=where)
    return Grant(number, roles[role], kind, name)


def _refuse_foreign(found: os.stat_result, directory: StateDirectory) -> None:
    field = str(directory.roles)
    if not stat.S_ISREG(found.st_mode):
        raise InputError("is no plain file", field=field)
    if found.st_uid not in (os.geteuid(), ROOT):
        raise InputError(
            f"belongs to {user_name(found.st_uid)}, not to {user_name(os.geteuid())}", field=field
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError("others may write it", field=field, hint=f"chmod go-w {field}")
