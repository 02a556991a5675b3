"""
A control plane in memory whose machines are replaced by their edge, as Cluster API does it.

The controller may write templates only; the edge creates, replaces and removes machines to match
them, one at a time above the wanted number and never below it. It refuses everything else.
"""

from fairlead.errors import InvariantError
from fairlead.rollout.machines import Machine, Template, oldest_first
from fairlead.sim.world import SimWorld

SURGE = 1


class DeploymentWorld(SimWorld):
    """A simulated control plane with a deployment behind every template."""

    replaces_by_itself = True

    def run_machines(self) -> int:
        """Let deployments and machines do what they are about to; return how many did something."""
        # Machines first: one that is told to leave drains for a round, as a real one would.
        moved = super().run_machines()
        return moved + sum(
            self._run_deployment(pool, template) for pool, template in self.templates.items()
        )

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        """Refuse: a machine that no deployment owns."""
        raise InvariantError(f"the controller created {name} of {pool} for {revision} itself")

    def remove_machine(self, name: str, reason: str) -> None:
        """Refuse: the deployment would make another one at once."""
        raise InvariantError(f"the controller removed {name} itself: {reason}")

    def change_machine(self, name: str, revision: str) -> None:
        """Refuse: machines of a deployment are never changed."""
        raise InvariantError(f"the controller changed {name} to {revision} itself")

    def _run_deployment(self, pool: str, template: Template) -> int:
        machines = self.list_machines(pool)
        staying = [machine for machine in machines if not machine.is_leaving]
        stale = [machine for machine in staying if machine.revision != template.revision]
        is_rolling = bool(stale) and not template.is_held
        most = template.replicas + (SURGE if is_rolling else 0)
        if len(staying) > most:
            return self._let_go((stale or staying)[0])
        if len(machines) < most and len(staying) - len(stale) < template.replicas:
            self.start_machine(pool, self._draw_name(pool), template.revision)
            return 1
        available = sum(machine.is_available for machine in staying)
        dead = [machine for machine in stale if not machine.is_available]
        if is_rolling and (dead or available > template.replicas):
            return self._let_go(oldest_first(dead or stale)[0])
        return 0

    def _let_go(self, machine: Machine) -> int:
        # Like Cluster API, it keeps no reason with the machine.
        self.release_machine(machine, "")
        return 1
