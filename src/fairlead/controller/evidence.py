"""
The record that a pass works with: the stored one if it describes the template, else evidence.

A crash between telling the template and writing the record, an upgrade from a controller without
records, and a return after a downgrade all look the same from here: the template names a
revision that the record does not. The template is right. What it names is decoded from its
secret, so that a change made in the meantime still rolls, and a rollout in flight stays one.
"""

import dataclasses

from fairlead.controller.observe import Snapshot
from fairlead.controller.revise import Wanted
from fairlead.decision.decision import Adopt, ChangedIntent, Forced
from fairlead.decision.explain import explain, reason_text
from fairlead.inputs.leaf import Unusable
from fairlead.revision.difference import difference_of
from fairlead.revision.rebase import in_words_of, rebase
from fairlead.revision.revision import Revision
from fairlead.rollout.record import MOST_HONOURED, Evidence, PoolRecord
from fairlead.rollout.start import NEW_POOL


def record_from_evidence(wanted: Wanted, revision: Revision | Unusable) -> PoolRecord:
    """Return a record whose target is what the template names, comparable with what is wanted."""
    seen = wanted.seen
    record = seen.record or PoolRecord(pool=seen.pool)
    if seen.template is not None and not _describes(record, seen.template.revision):
        record = _from_evidence(record, seen, revision)
    applied = _comparable(record.applied, wanted, revision)
    target = _comparable(record.target, wanted, revision)
    if applied is record.applied and target is record.target:
        return record
    return dataclasses.replace(record, applied=applied, target=target)


def _is_unborn(seen: Snapshot) -> bool:
    """Say whether this is a new pool whose first pass was cut off before it wrote the record."""
    template = seen.template
    is_wanted = template is not None and template.replicas > 0 and template.revision in seen.tokens
    return is_wanted and not seen.machines


def _describes(record: PoolRecord, revision: str) -> bool:
    return record.target is not None and record.target.id == revision


def _from_evidence(record: PoolRecord, seen: Snapshot, wanted: Revision | Unusable) -> PoolRecord:
    target, evidence = _target_of(seen, wanted)
    if target is None:
        return record
    told = dataclasses.replace(record, target=target, honoured=_honoured(record, target))
    if seen.record is None and _is_unborn(seen):
        sentence = explain(Adopt(target, is_new=True))
        return dataclasses.replace(told, reason=NEW_POOL, sentence=sentence)
    applied = record.applied if seen.record else _applied_of(seen, target)
    reason = _reason_of(record.target or applied, target)
    return dataclasses.replace(
        told,
        applied=applied,
        reason=reason,
        sentence=f"Machines are replaced because {reason}.",
        failed=(),
        halted="",
        forgiven=(),
        plan=None,
        # With a record there is nothing to take from elsewhere: it is only behind the template.
        seeded=evidence if seen.record is None else record.seeded,
    )


def _honoured(record: PoolRecord, target: Revision) -> tuple[str, ...]:
    if not target.force or target.force in record.honoured:
        return record.honoured
    return (*record.honoured, target.force)[-MOST_HONOURED:]


def _target_of(seen: Snapshot, wanted: Revision | Unusable) -> tuple[Revision | None, Evidence]:
    template = seen.template
    if template is None:
        return None, Evidence.NOTHING
    if token := seen.tokens.get(template.revision):
        return token.revision, Evidence.SECRET
    if isinstance(wanted, Unusable):
        return None, Evidence.NOTHING
    return dataclasses.replace(wanted, id=template.revision), Evidence.COMPUTED


def _applied_of(seen: Snapshot, target: Revision) -> Revision | None:
    others = [machine.revision for machine in seen.machines if machine.revision != target.id]
    if not others:
        return target
    return next((seen.tokens[name].revision for name in others if name in seen.tokens), None)


def _reason_of(before: Revision | None, target: Revision) -> str:
    if before is None or before.id == target.id:
        return "the template says so"
    if target.force and target.force != before.force:
        return reason_text(Forced(target.force))
    changes = difference_of(in_words_of(target, before), target).intent
    return reason_text(ChangedIntent(changes)) if changes else "the template says so"


def _comparable(
    stored: Revision | None, wanted: Wanted, revision: Revision | Unusable
) -> Revision | None:
    if stored is None:
        return None
    if isinstance(revision, Unusable):
        return rebase(stored, wanted.policy.content, wanted.seen.code.scheme)
    return in_words_of(revision, stored)
