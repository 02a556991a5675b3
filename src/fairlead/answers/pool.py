"""Pools in answers: in short, and in full."""

from msgspec import field

from fairlead.answers.document import Document, Json, Moment
from fairlead.answers.fix import Adoption, PoolFix
from fairlead.answers.leaf import HeldLeaf
from fairlead.answers.machine import MachineAnswer
from fairlead.answers.plan import Plan
from fairlead.answers.wait import Wait
from fairlead.answers.words import PoolState, Strategy


class Condition(Document, frozen=True, kw_only=True):
    """One condition. `status` is True, False or Unknown, as Kubernetes writes them."""

    type: str
    status: str
    reason: str
    message: str
    since: Moment


class Standing(Document, frozen=True, kw_only=True):
    """How a pool stands: its state, why, and how many of its machines are how far."""

    state: PoolState
    sentence: str
    version: str
    updated: int
    available: int
    total: int
    desired: int


class PoolStatus(Standing, frozen=True, kw_only=True):
    """What the controller writes for the owner."""

    conditions: tuple[Condition, ...]


class RevisionName(Document, frozen=True, kw_only=True):
    """What a revision is called, and the Kubernetes version of its machines."""

    id: str
    version: str


class RolloutAnswer(Document, frozen=True, kw_only=True):
    """A rollout under way. plan: what it was when it started."""

    reason: str
    sentence: str
    started_at: Moment | None
    before: RevisionName | None = field(name="from")
    to: RevisionName | None
    plan: Plan | None


class Way(Document, frozen=True, kw_only=True):
    """A way out: a command, and what it does. FILE and NAME stand for the reader's own."""

    command: str
    says: str


class Verdict(Document, frozen=True, kw_only=True):
    """
    Whether following a pool may end: complete, or stuck on something that only a person can end.

    needs: what that is, or ''. command: what ends it. ways: all that do, the nearest first; with
    nothing in `needs`, what ends a wait before its time.
    """

    is_complete: bool
    needs: str = ""
    command: str = ""
    ways: tuple[Way, ...] = ()


class PoolAnswer(Standing, frozen=True, kw_only=True):
    """
    One pool in short. summary: one short sentence, for a line of a table.

    adoption: machines that are being replaced for a hotfix, or None.
    """

    name: str
    summary: str
    held: tuple[HeldLeaf, ...]
    waits: tuple[Wait, ...]
    strategy: Strategy
    is_paused: bool
    halted: str
    rollout: RolloutAnswer | None
    adoption: Adoption | None = None


class NotApplied(Document, frozen=True, kw_only=True):
    """One leaf that machines of this kind are told and do not apply, and why."""

    leaf: str
    why: str


class PoolDetail(PoolAnswer, frozen=True, kw_only=True):
    """
    One pool in full. base: a digest of its document, for changes that follow from it.

    fixes: hotfixes that some of its machines lack, or should not have. fixes_problem: why that is
    not known, or ''.
    """

    document: Json
    conditions: tuple[Condition, ...]
    applied: RevisionName | None
    target: RevisionName | None
    plan: Plan
    machines: tuple[MachineAnswer, ...]
    verdict: Verdict
    not_applied: tuple[NotApplied, ...] = ()
    base: str = ""
    fixes: tuple[PoolFix, ...] = ()
    fixes_problem: str = ""


class Pools(Document, frozen=True, kw_only=True):
    """Every pool in short."""

    pools: tuple[PoolAnswer, ...]


class KeptDocument(Document, frozen=True, kw_only=True):
    """
    A document that was, or is, in force for a pool.

    at: since when; None if that was before documents were kept. actor: who asked for it; '' where
    that is not known.
    """

    number: int
    at: Moment | None
    document: Json
    actor: str = ""


class PoolHistory(Document, frozen=True, kw_only=True):
    """What a pool's owner declared, the oldest first; the last is in force."""

    pool: str
    documents: tuple[KeptDocument, ...]
