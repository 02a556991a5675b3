"""
What an owner agreed to, until a rollout has used it up.

An approval is for an intent and for machines. The platform inputs that go along are those that
were shown: what the platform changed since stays out, and is held like any other change of its.
The content of a secret is no part of what is shown, since no plan can hold it: it goes along as
the pool's secretContent says, also if the file came after the plan.
"""

from fairlead.answers.plan import Plan
from fairlead.answers.words import LeafClass
from fairlead.errors import InputError
from fairlead.inputs.leaf import Leaves, Unusable
from fairlead.inputs.registry import class_of
from fairlead.revision.hashing import Scheme, revision_of
from fairlead.revision.rebase import in_words_of
from fairlead.revision.revision import Revision, SecretContent, means_the_same
from fairlead.rollout.record import PoolRecord


class Approval(Plan, frozen=True, kw_only=True):
    """
    The plan that was agreed to. revision: what was shown as its target, or None if unknown.

    adopts: the request for a fix that it was shown for, or ''; then it is about no other target.
    """

    revision: Revision | None = None
    adopts: str = ""


def approval_of(plan: Plan, revision: Revision, adopts: str = "") -> Approval:
    """Return the plan as one that is agreed to, with the revision that it shows."""
    return Approval(**plan.parts(), revision=revision, adopts=adopts)


def agreed(
    approved: Approval | None, record: PoolRecord, desired: Revision | Unusable
) -> tuple[Revision | Unusable, Approval | None]:
    """
    Return the revision to go to, and the plan that holds for it, or None if none does.

    That is what is desired now, except where its intent is the one that was agreed to: then it is
    the revision that was shown.
    """
    if approved is None or isinstance(desired, Unusable) or _is_spent(approved, record):
        return desired, None
    shown = approved.revision
    if shown is None:
        return desired, approved if _still_holds(approved, record, desired) else None
    goal = _as_shown(shown, desired)
    if goal is None or (goal.intent_hash, goal.force) != (desired.intent_hash, desired.force):
        return desired, None  # agreed to something else, and so no promise about this
    if record.target and means_the_same(record.target, goal) and record.target.force == goal.force:
        return desired, None  # a pass that was cut off began it
    return goal, approved.but(intent_hash=goal.intent_hash, platform_hash=goal.platform_hash)


def _is_spent(approved: Approval, record: PoolRecord) -> bool:
    """Say whether a rollout began under it; one that follows, by a limit of the owner's, is new."""
    begun = record.target.id if record.target else ""
    return approved.target in (record.spent, begun)


def _still_holds(approved: Approval, record: PoolRecord, desired: Revision) -> bool:
    """
    Say whether an approval of release 202611.16.0 is for what is desired.

    That release kept no revision, so whatever the platform changed exceeds it; nor that one was
    used up, which is so once the target has its intent.
    """
    target = record.target
    is_begun = target and (target.intent_hash, target.force) == (
        approved.intent_hash,
        desired.force,
    )
    return approved.intent_hash == desired.intent_hash and not is_begun


def _as_shown(shown: Revision, desired: Revision) -> Revision | None:
    """Return the revision that was shown, in today's words and with the content of today."""
    shown = in_words_of(desired, shown)
    try:
        return revision_of(
            _with_content(shown.leaves, desired),
            content=desired.content,
            scheme=Scheme(desired.scheme),
            force=shown.force,
            known=shown,
        )
    except InputError:
        return None  # this release renders no node config from it any more


def _with_content(leaves: Leaves, desired: Revision) -> Leaves:
    kept = {path: leaves[path] for path in leaves if not _is_content(path)}
    content = {path: value for path, value in desired.leaves.items() if _is_content(path)}
    if desired.content is SecretContent.DRIFT:
        # Then it is the platform's, and what was shown stays.
        content |= {path: leaves[path] for path in leaves if _is_content(path)}
    return {**kept, **content}


def _is_content(path: str) -> bool:
    return class_of(path) is LeafClass.CONTENT
