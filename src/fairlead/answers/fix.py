"""Hotfixes in answers: what a machine booted with, and how many of a pool lack one."""

from fairlead.answers.document import Document, Moment


class MachineFix(Document, frozen=True, kw_only=True):
    """
    What a machine booted with, against what is published for its image base.

    baked: the version of its image's agent. used: the fix that provisioned it instead, or ''.
    cause: why a fix that it was told of was not used, or ''. would_boot_with: the fix that it would
    take if it booted now, or ''; since: when that one was published. withdrawn: why the fix that it
    has should not be used any more, or ''.
    """

    baked: str
    used: str
    says: str
    cause: str = ""
    would_boot_with: str = ""
    since: Moment | None = None
    withdrawn: str = ""


class PoolFix(Document, frozen=True, kw_only=True):
    """
    One fix, and the machines of a pool that lack it, or run with it although it was withdrawn.

    machines: how many; stopped: why no machine is given it any more, or ''.
    """

    version: str
    since: Moment
    machines: int
    says: str
    stopped: str = ""


class Adoption(Document, frozen=True, kw_only=True):
    """
    A fix that machines are replaced for.

    machines: those that lacked it when its owner asked, and no other. asked_by: who that was.
    """

    fix: str
    machines: tuple[str, ...]
    started_at: Moment
    asked_by: str = ""
