"""
The decisions that can be taken about a pool, and the reasons for replacing machines.

All are closed unions: match them and end with assert_never, and the type checker finds every
place that a further kind needs.
"""

from dataclasses import dataclass

from fairlead.decision.held import HeldChange
from fairlead.inputs.leaf import Unusable
from fairlead.revision.difference import LeafChange
from fairlead.revision.revision import Revision


@dataclass(frozen=True, slots=True)
class Keep:
    """Every input is as recorded."""

    running: Revision


@dataclass(frozen=True, slots=True)
class Adopt:
    """No machine runs and none is asked for, or nothing was ever recorded: nothing to protect."""

    wanted: Revision
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldPlatformChange:
    """Only platform inputs differ: nothing rolls, and the pool shows what it lacks."""

    running: Revision
    wanted: Revision
    held: tuple[HeldChange, ...]


@dataclass(frozen=True, slots=True)
class ChangedIntent:
    """The owner changed something."""

    changes: tuple[LeafChange, ...]


@dataclass(frozen=True, slots=True)
class Forced:
    """The owner asked for it, with a value that was not seen before."""

    value: str


@dataclass(frozen=True, slots=True)
class Overdue:
    """Platform changes were held longer than the owner allows."""

    held: tuple[HeldChange, ...]


Reason = ChangedIntent | Forced | Overdue


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceMachines:
    """Machines are replaced, for this reason; the latest platform inputs go along."""

    running: Revision
    wanted: Revision
    because: Reason
    takes_along: tuple[LeafChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """What is wanted cannot be computed: the template stays, machines are scaled and repaired."""

    running: Revision | None
    unusable: Unusable


@dataclass(frozen=True, slots=True)
class DeletePool:
    """The owner deleted the pool: every machine leaves, and nothing is computed any more."""

    running: Revision | None


Decision = Keep | Adopt | HoldPlatformChange | ReplaceMachines | Unknown | DeletePool
