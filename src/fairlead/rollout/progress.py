"""
Machines to progress: how far a rollout is, what failed, what it waits for, when it is complete.

Completion is judged by the revision that each machine carries, never by counters alone: a stale
counter would end a rollout with machines left behind.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from fairlead.answers.wait import Wait
from fairlead.answers.words import Phase, WaitFor
from fairlead.rollout.machines import Machine, Template
from fairlead.rollout.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counts of one pool against its target."""

    updated: int
    available: int
    total: int
    desired: int
    failed: tuple[str, ...]
    is_complete: bool

    @property
    def is_settled(self) -> bool:
        """Say whether every machine that is wanted is there and ready, and no other."""
        return self.updated == self.available == self.total == self.desired


def progress_of(
    machines: tuple[Machine, ...], template: Template, desired: int, policy: Policy, now: datetime
) -> Progress:
    """Return how far the machines are from what the template says."""
    updated = [machine for machine in machines if is_updated(machine, template.revision)]
    available = sum(machine.is_available for machine in machines)
    settled = len(machines) == len(updated) == available == desired
    return Progress(
        updated=len(updated),
        available=available,
        total=len(machines),
        desired=desired,
        failed=tuple(
            sorted(
                machine.name
                for machine in machines
                if template.revision in (machine.revision, machine.heading_for)
                and failure_of(machine, policy, now)
            )
        ),
        # A pool without machines has nobody who could still come up as something else.
        is_complete=settled and (template.is_observed or not desired),
    )


def failure_of(machine: Machine, policy: Policy, now: datetime) -> str:
    """
    Return what a machine died of, or '' if it did not.

    Dead is also one that never joined, that was being changed and never came back, or that has
    not been ready for longer than its owner allows. One that leaves is not: it goes anyway.
    """
    if machine.phase is Phase.FAILED:
        return machine.problem or "it says nothing"
    deadline = deadline_of(machine, policy)
    if machine.is_leaving or deadline is None or deadline > now:
        return ""
    if machine.is_in_flight:
        return f"its change never ended; {machine.problem or 'it says nothing'}"
    if machine.phase is Phase.BOOTING:
        return f"never joined; {machine.problem or 'it left no flight record'}"
    return f"not ready for too long; {machine.problem or 'it says nothing'}"


def failing(
    machines: Iterable[Machine], policy: Policy, now: datetime
) -> list[tuple[Machine, str]]:
    """Return the machines that died, each with what of."""
    others = (one for one in machines if one.phase is not Phase.READY or one.heading_for)
    found = ((machine, failure_of(machine, policy, now)) for machine in others)
    return [(machine, failure) for machine, failure in found if failure]


def deadline_of(machine: Machine, policy: Policy) -> datetime | None:
    """Return when what a machine is doing counts as failed, or its drain is cut short."""
    since = machine.since
    if machine.is_leaving:
        # The pool's, since the machine is given it in the very pass that says this.
        limit = policy.settings.drain_timeout
        return since + limit if since and limit else None
    if machine.phase is Phase.FAILED:
        return None
    if machine.is_in_flight:
        return since + policy.join_timeout if since else None
    if machine.phase is Phase.BOOTING:
        return machine.created_at + policy.join_timeout
    if machine.phase is Phase.NOT_READY and since:
        return since + policy.ready_timeout
    return None


def halt_cause(
    machines: tuple[Machine, ...], failed: tuple[str, ...], policy: Policy, now: datetime
) -> str:
    """Return why a rollout halts itself, or ''. The cause names a machine and what it died of."""
    if not policy.halt_after or len(failed) < policy.halt_after:
        return ""
    told = [
        f"{machine.name}: {failure_of(machine, policy, now)}"
        for machine in machines
        if machine.name in failed and failure_of(machine, policy, now)
    ]
    cause = told[0] if told else f"{failed[-1]}, which is gone"
    if len(failed) == 1:
        return f"1 machine failed, {cause}"
    return f"{len(failed)} machines failed, among them {cause}"


def machine_waits(machines: tuple[Machine, ...], policy: Policy, now: datetime) -> tuple[Wait, ...]:
    """
    Return what the machines themselves keep a rollout waiting for.

    A machine is named if it says what is wrong; those that just take their time are counted.
    Where no moment is given, a machine that is named does not come back by itself.
    """
    waits: list[Wait] = []
    quiet: dict[WaitFor, list[datetime | None]] = {}
    for machine in machines:
        kind = _wait_kind(machine)
        if kind is None:
            continue
        deadline = deadline_of(machine, policy)
        until = deadline if deadline and deadline > now else None
        says = failure_of(machine, policy, now) or machine.problem
        if stuck := _stuck_end(machine, policy, now):
            kind, says, until = WaitFor.EDGE, stuck, None
        if says := says or _slow_drain(machine, policy, now):
            told = f"{machine.name}: {says}"
            waits.append(Wait(wait_for=kind, says=told, machine=machine.name, until=until))
        else:
            quiet.setdefault(kind, []).append(until)
    for kind, silent in quiet.items():
        first = min((until for until in silent if until), default=None)
        waits.append(Wait(wait_for=kind, says=_counted(len(silent), kind), until=first))
    return tuple(sorted(waits, key=lambda wait: (wait.wait_for.value, wait.says)))


def _slow_drain(machine: Machine, policy: Policy, now: datetime) -> str:
    """Return that a drain without a limit takes longer than all of a replacement should, or ''."""
    if not machine.is_leaving or machine.since is None or policy.settings.drain_timeout:
        return ""
    if machine.going:
        return ""
    is_slow = machine.since + policy.estimate <= now
    return "its drain does not end, and timeouts.drain sets no limit" if is_slow else ""


def _stuck_end(machine: Machine, policy: Policy, now: datetime) -> str:
    """Return what its edge says of a machine whose end takes longer than a replacement, or ''."""
    if not machine.going or machine.since is None:
        return ""
    drained = machine.since + (policy.settings.drain_timeout or timedelta())
    is_slow = drained + policy.estimate <= now
    return f"it drained, and does not go: {machine.going}" if is_slow else ""


# By value: an enum's own hash is ten times the cost, and every machine is asked on every pass.
_WAITS = {
    Phase.BOOTING.value: WaitFor.JOIN,
    Phase.FAILED.value: WaitFor.JOIN,
    Phase.NOT_READY.value: WaitFor.READY,
}


def _wait_kind(machine: Machine) -> WaitFor | None:
    if machine.is_leaving:
        return WaitFor.LEAVE
    if machine.is_in_flight:
        return WaitFor.CHANGE
    return _WAITS.get(machine.phase.value)


def _counted(count: int, kind: WaitFor) -> str:
    one, many = {
        WaitFor.LEAVE: ("drains", "drain"),
        WaitFor.CHANGE: ("is being changed", "are being changed"),
        WaitFor.JOIN: ("boots", "boot"),
    }.get(kind, ("is not ready", "are not ready"))
    return f"1 machine {one}" if count == 1 else f"{count} machines {many}"


def is_updated(machine: Machine, revision: str) -> bool:
    """Say whether a machine has what it should: one that boots or failed has nothing yet."""
    has_joined = machine.phase in (Phase.READY, Phase.NOT_READY)
    return machine.revision == revision and has_joined and not machine.is_in_flight
