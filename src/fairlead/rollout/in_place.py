"""
Which machines are changed in place next.

Machines in flight to an older target are redirected at once, whatever the budget says: they are
unavailable already. A machine that failed on the way stops the pool until a person looks.
"""

from fairlead.answers.words import Phase
from fairlead.rollout.machines import Machine, in_turn
from fairlead.rollout.step import ChangeMachine


def change_steps(
    staying: tuple[Machine, ...], target: str, least_available: int, unavailable: int, allowed: int
) -> tuple[ChangeMachine, ...]:
    """
    Return the changes that fit.

    At most `unavailable` are under way at once, `least_available` stay available, and `allowed`
    machines may have the target.
    """
    if degradation_of(staying):
        return ()
    in_flight = [machine for machine in staying if machine.is_in_flight]
    redirected = [machine for machine in in_flight if machine.heading_for != target]
    idle = in_turn(
        machine
        for machine in staying
        if machine.revision != target
        and not machine.is_in_flight
        and machine.phase in (Phase.READY, Phase.NOT_READY)
    )
    capacity = max(unavailable - len(in_flight), 0)
    begun = sum(target in (machine.revision, machine.heading_for) for machine in staying)
    chosen = idle[: min(capacity, max(allowed - begun - len(redirected), 0))]
    spare = max(sum(machine.is_available for machine in staying) - least_available, 0)
    serving = [machine for machine in chosen if machine.is_available][:spare]
    dead = [machine for machine in chosen if not machine.is_available]
    return tuple(
        ChangeMachine(machine.name, target) for machine in (*in_turn(redirected), *dead, *serving)
    )


def degradation_of(machines: tuple[Machine, ...], forgiven: tuple[str, ...] = ()) -> str:
    """Return which machine failed while it was changed and why, or ''."""
    degraded = [
        machine
        for machine in machines
        if machine.phase is Phase.FAILED and machine.heading_for and machine.name not in forgiven
    ]
    if not degraded:
        return ""
    first = min(degraded, key=lambda machine: machine.name)
    return f"{first.name} failed on the way: {first.problem or 'no reason given'}"
