"""Machines in answers."""

from fairlead.answers.document import Document, Json, Moment
from fairlead.answers.event import Event
from fairlead.answers.fix import MachineFix
from fairlead.answers.leaf import LeafDifference
from fairlead.answers.words import Fault, Phase


class MachineAnswer(Document, frozen=True, kw_only=True):
    """
    One machine, living or gone.

    revision: what its template named. version: of Kubernetes, in that revision; '' if it is not
    known any more. booted: what it fetched, or ''. heading_for: what a change in place takes it to,
    or ''. since: when it was told to leave or to change, or stopped being ready. kind, fault,
    boot_ms: what only its edge knows. ignored: what of its node config it did not use at its last
    boot, as its receipt names it. agent: version of the agent that provisioned it, a hotfix's or
    its image's; '' if it is not known.
    """

    name: str
    pool: str
    phase: Phase
    revision: str
    booted: str
    heading_for: str
    created_at: Moment
    ready_at: Moment | None
    problem: str
    reason: str
    version: str = ""
    since: Moment | None = None
    kind: str = ""
    fault: Fault = Fault.NONE
    gone_at: Moment | None = None
    boot_ms: float | None = None
    ignored: tuple[str, ...] = ()
    agent: str = ""


class MachineDetail(MachineAnswer, frozen=True, kw_only=True):
    """
    One machine in full. report: what it said of its last boot, or None; report_problem: why that
    cannot be shown, or ''.

    fix: the hotfix that it has or lacks; None where no hotfix is known of.
    """

    report: Json
    events: tuple[Event, ...]
    difference: tuple[LeafDifference, ...]
    sentence: str
    fix: MachineFix | None = None
    report_problem: str = ""


class Machines(Document, frozen=True, kw_only=True):
    """Machines of one pool or of all."""

    machines: tuple[MachineAnswer, ...]


class MachineLog(Document, frozen=True, kw_only=True):
    """
    The end of what a machine printed since it last got power.

    begin, end: where this is in all that it printed, in bytes. power: another value if it got
    power again, from when on it counts anew; '' if it never did. last_words: how far its boot
    came and what stopped it, or ''.
    """

    machine: str
    power: str
    begin: int
    end: int
    text: str
    last_words: str
