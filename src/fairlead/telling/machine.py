"""One machine as it is told, and why it is or is not being replaced. Pure."""

from collections.abc import Iterator
from datetime import datetime

from fairlead.answers.leaf import LeafDifference
from fairlead.answers.machine import MachineAnswer
from fairlead.answers.words import GAVE_UP, Strategy, WaitFor
from fairlead.controller.observe import Snapshot
from fairlead.controller.thought import Thought
from fairlead.decision.decision import ReplaceMachines
from fairlead.decision.explain import listed
from fairlead.proposal.leaves import leaf_difference
from fairlead.proposal.plan import record_after
from fairlead.revision.difference import difference_of
from fairlead.revision.rebase import in_words_of
from fairlead.revision.revision import Revision
from fairlead.rollout.adoption import reason_for
from fairlead.rollout.machines import Machine
from fairlead.rollout.progress import failure_of
from fairlead.rollout.step import RemoveMachine

# What keeps a machine that is to be replaced from being replaced, the weightiest first.
OBSTACLES = (
    WaitFor.STOP,
    WaitFor.HALT,
    WaitFor.PAUSE,
    WaitFor.UNSERVED,
    WaitFor.WINDOW,
    WaitFor.PLAN,
    WaitFor.OWNER,
    WaitFor.SOAK,
    WaitFor.BUDGET,
)


def machine_answer(machine: Machine) -> MachineAnswer:
    """Return a machine, without what only its edge knows (kind, fault, gone_at, boot_ms)."""
    return MachineAnswer(
        name=machine.name,
        pool=machine.pool,
        phase=machine.phase,
        revision=machine.revision,
        booted=machine.booted,
        heading_for=machine.heading_for,
        created_at=machine.created_at,
        ready_at=machine.ready_at,
        problem=machine.problem,
        reason=machine.reason,
        since=machine.since,
        agent=machine.agent,
    )


def versions_of(seen: Snapshot) -> dict[str, str]:
    """Return the Kubernetes version of every revision that is known, by its id."""
    return {revision.id: revision.version for revision in _revisions(seen)}


def differences_of(
    machine: Machine, seen: Snapshot, thought: Thought
) -> tuple[LeafDifference, ...]:
    """
    Return what differs between what a machine booted and what its pool is to have.

    Nothing if that is no longer known: the pair that it booted from may be gone.
    """
    goal = _goal_of(seen, thought)
    booted = next((one for one in _revisions(seen) if one.id == machine.booted), None)
    if goal is None or booted is None:
        return ()
    difference = difference_of(in_words_of(goal, booted), goal)
    return tuple(leaf_difference(change) for change in difference.intent + difference.platform)


def sentence_about(machine: Machine, seen: Snapshot, thought: Thought, now: datetime) -> str:
    """Return why a machine is, or is not, being replaced."""
    if machine.is_leaving:
        waits = f" It waits: {machine.problem}." if machine.problem else ""
        if waits and not machine.skips_drain:
            waits += f" fairlead machine delete {machine.name} --force waits no longer."
        if machine.going:
            waits += f" It drained: {machine.going}."
        asked = f" (asked by {machine.asked_by})" if machine.asked_by else ""
        return f"{machine.name} leaves: {machine.reason}{asked}.{waits}"
    if reason := _reason_to_replace(machine, seen, thought):
        obstacle = "" if machine.is_in_flight else _obstacle(thought)
        return f"{machine.name} {_verb(machine, thought)} because {reason}{obstacle}."
    told = next((step for step in _removals(thought) if step.machine == machine.name), None)
    if told:
        return f"{machine.name} is about to leave: {told.reason}."
    return _stays(machine, seen, thought, now)


def _goal_of(seen: Snapshot, thought: Thought) -> Revision | None:
    if isinstance(thought.decision, ReplaceMachines):
        return thought.decision.wanted
    return record_after(seen, thought).target


def _revisions(seen: Snapshot) -> Iterator[Revision]:
    for secret in seen.tokens.values():
        yield secret.served
        yield secret.revision
    if seen.record:
        yield from (known for known in (seen.record.applied, seen.record.target) if known)


def _reason_to_replace(machine: Machine, seen: Snapshot, thought: Thought) -> str:
    record = record_after(seen, thought)
    if record.is_rolling and record.target and machine.revision != record.target.id:
        return record.reason
    if record.adoption and machine.name in thought.lacking:
        return reason_for(record.adoption)
    if isinstance(thought.decision, ReplaceMachines) and machine.name in thought.shown.machines:
        return thought.shown.because
    return ""


def _verb(machine: Machine, thought: Thought) -> str:
    if machine.is_in_flight:
        return "is being changed in place"
    in_place = thought.policy.strategy is Strategy.IN_PLACE
    return "will be changed in place" if in_place else "will be replaced"


def _obstacle(thought: Thought) -> str:
    waits = {wait.wait_for: wait.says for wait in thought.waits}
    return next((f"; {waits[kind]}" for kind in OBSTACLES if kind in waits), "")


def _removals(thought: Thought) -> list[RemoveMachine]:
    return [step for step in thought.steps if isinstance(step, RemoveMachine)]


def _why_not(thought: Thought) -> str:
    if not thought.policy.auto_repair:
        return ", and autoRepair is off"
    if any(wait.wait_for is WaitFor.UNSERVED for wait in thought.waits):
        return " for now"
    gave_up = (wait.says for wait in thought.waits if wait.wait_for in GAVE_UP)
    return next((f": {says}" for says in gave_up), "")


def _stays(machine: Machine, seen: Snapshot, thought: Thought, now: datetime) -> str:
    held = record_after(seen, thought).held
    if failure := failure_of(machine, thought.policy, now):
        said = f"{machine.name} failed: {failure}; nothing replaces it{_why_not(thought)}."
        delete = f"fairlead machine delete {machine.name} lets its pool make another"
        unserved = (wait.says for wait in thought.waits if wait.wait_for is WaitFor.UNSERVED)
        if says := next(unserved, ""):
            return f"{said} Another would not come up: {says}. Once it is smaller, {delete}."
        return f"{said} {delete}."
    if held and machine.booted not in ("", machine.revision):
        return f"{machine.name} stays: it booted with platform changes that its siblings wait for."
    if held:
        leaves = listed(change.leaf for change in held)
        return f"{machine.name} stays: {leaves} waits for the next rollout."
    return f"{machine.name} stays: it has what its pool is told."
