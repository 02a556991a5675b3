"""
Who may come in: how many connections there are, how many of one address, and how long each stays.

Everybody on this computer can open the payload service's port, and whoever holds connections open
holds descriptors that our own files need. So a connection is counted from the moment it is taken.
Who has asked for something stays until the answer is taken; where there is no more room, whoever
came first and has not asked yet goes. A machine asks within milliseconds, so keeping one out takes
not patience, but thousands of connections each second.
"""

from __future__ import annotations

import resource
import socket
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from fairlead.embedded.serve.give_back import CROWD, LARGE

# Descriptors of this process, and how many of them stay free for its own files: the database,
# machines that start, children. Where fewer can be had, the doors have as much less room.
WANTED_DESCRIPTORS = 1024
RESERVE = 256

# Seconds between two looks at who stays too long.
SWEEP_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What one door lets in.

    most: connections in all. most_of_one: of one address. ask_s: seconds until a whole request
    must be there, TLS and body included; a connection that is kept open may be idle as long.
    answer_s: seconds from then until its answer must be taken.
    """

    most: int
    most_of_one: int
    ask_s: float
    answer_s: float

    @property
    def most_open(self) -> int:
        """Connections that may be open, those that were sent away and have yet to go included."""
        return self.most + self.most // 8


# All machines of this computer share the address of its loopback, so one address may have most of
# the room; what is left to others is enough for hundreds of boots a second. An agent gives up a
# try after 30 s.
PAYLOADS = Limits(most=512, most_of_one=448, ask_s=10.0, answer_s=60.0)

# Commands of one person. The longest answer, a plan for a fleet, is waited for for two minutes.
COMMANDS = Limits(most=128, most_of_one=128, ask_s=10.0, answer_s=180.0)

# Those of other users, who so keep the owner's out of nothing.
GUESTS = Limits(most=32, most_of_one=32, ask_s=10.0, answer_s=180.0)


class Connection(socket.socket):
    """
    One connection that was let in; its door forgets it when it is closed.

    since: when it came, asked, or was answered last, on the monotonic clock.
    """

    def __init__(self, door: Door, descriptor: int, address: str) -> None:
        super().__init__(door.family, door.type, door.proto, fileno=descriptor)
        self.number = descriptor
        self.address = address
        self.since = time.monotonic()
        self.has_asked = False
        self._door = door

    def mark(self, *, has_asked: bool) -> None:
        """Note that it asked, or that it was answered."""
        self.has_asked = has_asked
        self.since = time.monotonic()

    def close(self) -> None:
        """Close it, and make room."""
        self._door.note_closed(self)
        super().close()

    def turn_out(self) -> None:
        """Let whoever serves it see its end; that closes it."""
        try:
            self.shutdown(socket.SHUT_RDWR)
        except OSError:  # the other side was faster
            return


class Door(socket.socket):
    """A bound socket that lets in as many as its limits say."""

    def __init__(self, bound: socket.socket, limits: Limits) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        self.limits = limits
        # By descriptor, in the order in which they came; and how many of each address.
        self._inside: dict[int, Connection] = {}
        self._of_one: Counter[str] = Counter()
        self._open: set[Connection] = set()
        self._swept_at = time.monotonic()
        # How many went since somebody set this to 0, and how many bytes they all asked with.
        self.gone = 0
        self.took = 0

    @property
    def is_worth_a_look(self) -> bool:
        """Whether those that went may have left much that can be given back."""
        return self.gone >= CROWD or self.took >= LARGE

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection that is let in. Raises BlockingIOError if there is none."""
        while len(self._open) < self.limits.most_open:
            descriptor, address = self._accept()  # type: ignore[attr-defined]
            taken = Connection(self, descriptor, address[0] if isinstance(address, tuple) else "")
            self._open.add(taken)
            if self._has_room(taken.address):
                self._inside[descriptor] = taken
                self._of_one[taken.address] += 1
                return taken, address
            taken.close()
        raise BlockingIOError("those that were sent away have yet to go")

    def find(self, descriptor: int) -> Connection | None:
        """Return the connection with this descriptor, if it is inside."""
        return self._inside.get(descriptor)

    def note_closed(self, connection: Connection) -> None:
        """Make room: a connection is closed."""
        if connection in self._open:
            self._open.remove(connection)
            self.gone += 1
        self._let_go(connection)

    def sweep(self) -> None:
        """Send away whoever stays too long. Time in which nobody was served does not count."""
        now = time.monotonic()
        missed_s = max(0.0, now - self._swept_at - 1.5 * SWEEP_S)
        self._swept_at = now
        for one in list(self._inside.values()):
            one.since += missed_s
            limit_s = self.limits.answer_s if one.has_asked else self.limits.ask_s
            if now - one.since > limit_s:
                self._turn_out(one)

    def _has_room(self, address: str) -> bool:
        """Say whether there is room for one more of this address, or make some."""
        if self._of_one[address] >= self.limits.most_of_one:
            return self._turn_out_first(address)
        return len(self._inside) < self.limits.most or self._turn_out_first(None)

    def _turn_out_first(self, address: str | None) -> bool:
        """Send away who came first and asked for nothing, of this address or of all."""
        for one in self._inside.values():
            if not one.has_asked and address in (None, one.address):
                self._turn_out(one)
                return True
        return False

    def _turn_out(self, connection: Connection) -> None:
        self._let_go(connection)
        connection.turn_out()

    def _let_go(self, connection: Connection) -> None:
        if self._inside.get(connection.number) is connection:
            del self._inside[connection.number]
            self._of_one -= Counter((connection.address,))


def raise_descriptor_limit(wanted: int = 4 * WANTED_DESCRIPTORS) -> int:
    """Have as many descriptors as are wanted, where that is allowed; return how many there are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def fitted(limits: Limits, descriptors: int) -> Limits:
    """Return limits that leave the reserve free, also where there are few descriptors."""
    if descriptors >= WANTED_DESCRIPTORS:
        return limits
    reserve = min(RESERVE, descriptors // 2)
    share = (descriptors - reserve) / (WANTED_DESCRIPTORS - RESERVE)
    return replace(
        limits,
        most=max(4, int(limits.most * share)),
        most_of_one=max(4, int(limits.most_of_one * share)),
    )
