"""
Which pairs of secrets a pool needs: those that a pointer, the template, a machine or its edge
names.

Counted on the machines as they are after the pass, so that a pair is let go in the same pass in
which its last machine turned away.
"""

from collections.abc import Mapping

from fairlead.controller.observe import Snapshot
from fairlead.controller.revise import Wanted, too_large_for
from fairlead.decision.decision import Decision, HoldPlatformChange, ReplaceMachines, Unknown
from fairlead.inputs.leaf import Unusable
from fairlead.revision.newest import with_newest
from fairlead.revision.revision import Revision
from fairlead.rollout.leave import last_secrets
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import Need, SecretPlan, TokenSecret, plan_secrets, served_anew
from fairlead.rollout.served.config import is_about_size
from fairlead.timeline.conditions import PoolFacts


def needed_pairs(wanted: Wanted, facts: PoolFacts, desired: Revision | Unusable) -> dict[str, Need]:
    """Return every pair that something names, with what it stands for and what it serves."""
    served = _served_otherwise(wanted, facts.record, facts.decision, desired)
    return {
        name: Need(stands_for, served.get(name, stands_for))
        for name, stands_for in _named(wanted.seen, facts).items()
    }


def unserved_of(
    wanted: Wanted, record: PoolRecord, decision: Decision, desired: Revision | Unusable
) -> str:
    """Return why no machine can be served what it boots from when the pass is over, or ''."""
    target = record.target
    if target is None or wanted.is_leaving or (desired is target and _is_measured(wanted)):
        return ""  # most pools: what is desired was found to fit
    if not _is_measured(wanted):
        noted = _noted_problem_of(wanted.seen.tokens.get(target.id))
        return noted if is_about_size(noted) else ""
    served = _served_otherwise(wanted, record, decision, desired).get(target.id, target)
    too_large = too_large_for(wanted, served)
    return too_large.text if too_large else ""


def _is_measured(wanted: Wanted) -> bool:
    """Say whether it is known how large secrets are."""
    return wanted.seen.documents.resolved.added.is_known


def _named(seen: Snapshot, facts: PoolFacts) -> dict[str, Revision]:
    target, template = facts.record.target, facts.template
    found = {known.id: known for known in (facts.record.applied, target) if known}
    names = {*seen.references, *([template.revision] if template else [])}
    for machine in facts.machines:
        names |= {machine.revision, machine.heading_for} - {""}
    for name in names - found.keys():
        token = seen.tokens.get(name)
        stands_for = token.revision if token else target
        if stands_for:
            # A pair that is lost with its content comes back under its name with the target's.
            found[name] = stands_for
    return found


def _served_otherwise(
    wanted: Wanted, record: PoolRecord, decision: Decision, desired: Revision | Unusable
) -> dict[str, Revision]:
    """Return the pairs whose machines get other inputs than the name of the pair stands for."""
    tokens, target = wanted.seen.tokens, record.target
    if wanted.is_leaving:
        return {name: token.served for name, token in tokens.items()}
    if target is None:
        return {}
    if isinstance(decision, HoldPlatformChange) and isinstance(desired, Revision):
        if refreshes(wanted, record):
            return {target.id: desired}
        # A rollout under way gives all its machines the same.
        newest = target if record.is_rolling else with_newest(target, desired.leaves)
        return {target.id: newest}
    if target.id in tokens and _is_undecided(decision, record):
        return {target.id: tokens[target.id].served}
    return {}


def refreshes(wanted: Wanted, record: PoolRecord) -> bool:
    """Say whether new machines get what is held: by choice, or because nothing else works."""
    target = record.target
    if target is not None and record.held and too_large_for(wanted, target):
        return True  # also in the midst of a rollout, which ends in no other way
    token = wanted.seen.tokens.get(target.id) if target else None
    wants = wanted.policy.refreshes or bool(_problem_of(token))
    return wants and not record.is_rolling


def secrets_for(wanted: Wanted, facts: PoolFacts, needed: Mapping[str, Need]) -> SecretPlan:
    """Return the steps that keep the needed pairs whole and let the others go."""
    tokens, user_data = wanted.seen.tokens, wanted.seen.user_data
    if is_over(wanted, facts):
        return last_secrets(tokens.keys() | user_data.keys())
    if wanted.is_leaving:
        # Nobody is to boot any more, so what is lost stays lost.
        needed = {name: need for name, need in needed.items() if name in tokens}
    return plan_secrets(tokens, user_data, needed, wanted.stub, wanted.now)


def is_over(wanted: Wanted, facts: PoolFacts) -> bool:
    """Say whether nothing of a deleted pool is left."""
    return wanted.is_leaving and not wanted.is_stopped and not facts.machines


def _is_undecided(decision: Decision, record: PoolRecord) -> bool:
    """Say whether a change waits, or cannot be computed; until then nothing else is served."""
    return isinstance(decision, ReplaceMachines | Unknown) and not record.is_rolling


def problem_after(seen: Snapshot, needed: Mapping[str, Need], record: PoolRecord) -> str:
    """Return why the target's pair cannot be served when the pass is over, or ''."""
    token = seen.tokens.get(record.target.id) if record.target else None
    if token is None:
        return ""
    served = needed[token.id].served
    is_same = token.served.leaves == served.leaves
    return _problem_of(token if is_same else served_anew(token, served))


def _problem_of(token: TokenSecret | None) -> str:
    noted = _noted_problem_of(token)
    # The service was asked once; how large it is now is known of every pass.
    return "" if is_about_size(noted) else noted


def _noted_problem_of(token: TokenSecret | None) -> str:
    return (token.unserved or token.problem) if token else ""
