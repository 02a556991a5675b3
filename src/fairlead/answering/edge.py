"""What an edge brings along so that questions about it can be answered."""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from fairlead.answers.machine import MachineAnswer
from fairlead.answers.wait import Wait
from fairlead.controller.observe import World
from fairlead.errors import InputError

# Names in a hint; a command lists them all.
MOST_NAMES = 10


class Edge(Protocol):
    """Where pools are, as questions need it."""

    def now(self) -> datetime:
        """Return this moment."""

    def world(self) -> World:
        """Return the seams."""

    def machine_answers(self, pool: str) -> tuple[MachineAnswer, ...]:
        """Return the machines of a pool, with what only this edge knows of them."""

    def waits_beside(self, pool: str) -> tuple[Wait, ...]:
        """Return what a pool waits for that no thought can know: another try of a pass."""


class NotFoundError(InputError):
    """There is nothing of this name; the hint says what there is."""


def no_such(what: str, name: str, names: Iterable[str]) -> NotFoundError:
    """Return the error for a name that nothing has."""
    known = sorted(names)
    shown = ", ".join(known[:MOST_NAMES]) + (" ..." if len(known) > MOST_NAMES else "")
    hint = f"there is {shown}" if known else f"there is no {what} at all"
    return NotFoundError(f"there is no {what} {name!r}", hint=hint)
