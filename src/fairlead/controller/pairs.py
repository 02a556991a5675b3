"""
Which pairs of secrets a pool needs: those that a pointer, the template or a machine names.

Counted on the machines as they are after the pass, so that a pair is let go in the same pass in
which its last machine turned away.
"""

from fairlead.controller.moment import Moment
from fairlead.controller.observe import Snapshot
from fairlead.decision.decision import (
    Decision,
    HoldPlatformChange,
    ReplaceMachines,
    Unknown,
)
from fairlead.inputs.leaf import Unusable
from fairlead.inputs.platform_inputs import Stub
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import Template
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import Pairs, TokenSecret, served_anew
from fairlead.timeline.conditions import PoolFacts


def pairs_of(
    here: Moment, facts: PoolFacts, template: Template | None, revision: Revision | Unusable
) -> Pairs:
    """Return the secrets that exist and those that something names."""
    seen, record, decision = here.seen, facts.record, facts.decision
    target = record.target
    needed = {known.id: known for known in (record.applied, target) if known}
    named = {template.revision} if template else set()
    for machine in facts.machines:
        named |= {machine.revision, machine.heading_for} - {""}
    for name in named - needed.keys():
        token = seen.tokens.get(name)
        stands_for = token.revision if token else target
        if stands_for:
            # A pair that is lost with its content comes back under its name with the target's.
            needed[name] = stands_for
    is_held = isinstance(decision, HoldPlatformChange) and refreshes(here, record)
    served = {}
    if here.is_leaving:
        served = {name: token.served for name, token in seen.tokens.items()}
    elif target and is_held and isinstance(revision, Revision):
        served[target.id] = revision
    elif target and target.id in seen.tokens and _is_undecided(decision, record):
        served[target.id] = seen.tokens[target.id].served
    return Pairs(
        tokens=seen.tokens,
        user_data=seen.user_data,
        needed=needed,
        served=served,
        stub=stub_of(here),
    )


def refreshes(here: Moment, record: PoolRecord) -> bool:
    """Say whether new machines get what is held: by choice, or because nothing else works."""
    wants = here.wanted.policy.refreshes or bool(pinned_problem(here.seen, record))
    return wants and not record.is_rolling


def _is_undecided(decision: Decision, record: PoolRecord) -> bool:
    """Say whether a change waits, or cannot be computed; until then nothing else is served."""
    return isinstance(decision, ReplaceMachines | Unknown) and not record.is_rolling


def pinned_problem(seen: Snapshot, record: PoolRecord) -> str:
    """Return why the target's pair cannot be served, or ''."""
    token = seen.tokens.get(record.target.id) if record.target else None
    return _problem_of(token)


def problem_after(pairs: Pairs, record: PoolRecord) -> str:
    """Return what is left of that problem when the pass is over."""
    target = record.target
    token = pairs.tokens.get(target.id) if target else None
    if target is None or token is None:
        return ""
    served = pairs.served.get(target.id, target)
    is_same = token.served.leaves == served.leaves
    return _problem_of(token if is_same else served_anew(token, served))


def _problem_of(token: TokenSecret | None) -> str:
    return (token.unserved or token.problem) if token else ""


def stub_of(here: Moment) -> Stub:
    """Return what user data is refreshed with; as it was, if the platform is unreadable."""
    if here.wanted.platform is not None:
        return here.wanted.platform.stub
    return next((data.stub for data in here.seen.user_data.values()), Stub())
