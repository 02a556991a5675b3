"""
A control plane in memory whose machines are replaced by their edge, as Cluster API does it.

The controller may write templates only; the edge creates, replaces and removes machines to match
them, within the template's own pacing. Of machines beyond the wanted number those go first that are
marked, then those that are not ready, then the youngest. It refuses everything else, but that a
machine is removed for a fix: another one is made once that is gone. Machines of a pool that changes
in place are made and removed by the edge as well, and changed by the controller's steps; another
one is made for each that they remove.

A deployment that is held makes no machine of a revision that it has not begun with: it goes on
scaling and mending the set that it had, as Cluster API does, and so goes on naming its pair.
"""

from dataclasses import replace

from fairlead.errors import InvariantError
from fairlead.rollout.machines import Machine, Pacing, Template, oldest_first
from fairlead.rollout.policy import Budget
from fairlead.sim.clock import Clock
from fairlead.sim.world import SimWorld


class DeploymentWorld(SimWorld):
    """A simulated control plane with a deployment, or a set, behind every template."""

    makes_by_itself = True

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._sets: dict[str, str] = {}

    def run_machines(self) -> int:
        """Let deployments and machines do what they are about to; return how many did something."""
        # Machines first: one that is told to leave drains for a round, as a real one would.
        moved = super().run_machines()
        return moved + sum(
            self._run_set(pool, template)
            if template.pacing.in_place
            else self._run_deployment(pool, template, template.pacing)
            for pool, template in self.templates.items()
            if template.pacing is not None
        )

    def list_references(self, pool: str) -> tuple[str, ...]:
        """Return the revision of the set that a held deployment would make machines from."""
        template = self.templates.get(pool)
        if template is None or template.pacing is None or not template.is_held:
            return ()
        return (self._set_of(pool, template),)

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        """Refuse: the edge makes machines."""
        raise InvariantError(f"the controller created {name} of {pool} for {revision} itself")

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Refuse what the deployment sees to by itself: all but those that lack a fix."""
        machine = self.living.get(name)
        if machine is None or (
            self._has_deployment(machine.pool) and name not in self._to_remove(machine.pool)
        ):
            raise InvariantError(f"the controller removed {name} itself: {reason} {asked_by}")
        super().remove_machine(name, reason, asked_by)

    def mark_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Let a machine go before others."""
        machine = self.living[name]
        self._write("mark", name)
        self.living[name] = replace(machine, goes_first=True, reason=reason, asked_by=asked_by)

    def change_machine(self, name: str, revision: str) -> None:
        """Refuse: machines of a deployment are never changed."""
        if self._has_deployment(self.living[name].pool):
            raise InvariantError(f"the controller changed {name} to {revision} itself")
        super().change_machine(name, revision)

    def _to_remove(self, pool: str) -> set[str]:
        """Return the machines that are replaced for a fix, and what failed of their successors."""
        record = self.find_record(pool)
        adoption = record.adoption if record else None
        return {*adoption.machines, *record.forgiven} if record and adoption else set()

    def _has_deployment(self, pool: str) -> bool:
        template = self.templates.get(pool)
        pacing = template.pacing if template else None
        return pacing is not None and not pacing.in_place

    def _run_set(self, pool: str, template: Template) -> int:
        """Keep the number of machines; what they have is none of the set's business."""
        machines = self.list_machines(pool)
        staying = [machine for machine in machines if not machine.is_leaving]
        if len(staying) > template.replicas:
            return self._let_go(staying[-1])
        if len(staying) < template.replicas:
            self.start_machine(pool, self._draw_name(pool), template.revision)
            return 1
        return 0

    def _set_of(self, pool: str, template: Template) -> str:
        """Return which revision the deployment makes machines of; held, the one that it had."""
        if not template.is_held:
            self._sets[pool] = template.revision
        return self._sets.get(pool, template.revision)

    def _run_deployment(self, pool: str, template: Template, pacing: Pacing) -> int:
        made_from = self._set_of(pool, template)
        machines = self.list_machines(pool)
        staying = [machine for machine in machines if not machine.is_leaving]
        stale = [machine for machine in staying if machine.revision != made_from]
        is_rolling = bool(stale) and not template.is_held and not pacing.waits_for_deletion
        # Held in the midst of a roll, it keeps the machine too many that it has.
        has_begun = bool(stale) and not pacing.waits_for_deletion
        told = template.replicas + template.surge
        most = told + (_count(pacing.max_surge, template, up=True) * has_begun)
        if len(staying) > most:
            return self._let_go(stale[0] if stale else _first_to_go(staying))
        fresh = len(staying) - len(stale)
        wants = told if is_rolling else told - len(stale)
        if len(machines) < most and fresh < wants:
            self.start_machine(pool, self._draw_name(pool), made_from)
            return 1
        available = sum(machine.is_available for machine in staying)
        fewest = template.replicas - _count(pacing.max_unavailable, template, up=False)
        dead = [machine for machine in stale if not machine.is_available]
        if is_rolling and (dead or available > fewest):
            return self._let_go(oldest_first(dead or stale)[0])
        return 0

    def _let_go(self, machine: Machine) -> int:
        # Like Cluster API, it keeps no reason with the machine but what is there.
        self.release_machine(machine, machine.reason)
        return 1


def _first_to_go(staying: list[Machine]) -> Machine:
    """Return whom an edge takes first if there are too many."""
    marked = [machine for machine in staying if machine.goes_first]
    idle = [machine for machine in staying if not machine.is_available]
    return oldest_first(marked or idle or staying)[-1]


def _count(amount: int | str, template: Template, *, up: bool) -> int:
    """Return how many machines an amount is; a share of surge rounds up, the other down."""
    is_share = isinstance(amount, str)
    budget = Budget(int(amount.rstrip("%")) if isinstance(amount, str) else amount, is_share)
    return budget.rounded_up(template.replicas) if up else budget.rounded_down(template.replicas)
