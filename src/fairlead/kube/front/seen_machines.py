"""Machines as commands see them: read by their names, and written by nobody but the operator."""

from __future__ import annotations

from dataclasses import replace

from fairlead.errors import InvariantError
from fairlead.kube.cluster_api.machines import KubeMachines
from fairlead.kube.front.scope import Scope
from fairlead.rollout.machines import Machine, NodeSettings, Template


class SeenMachines:
    """The Machines seam, by the names of a scope."""

    def __init__(self, inner: KubeMachines, scope: Scope) -> None:
        self._inner = inner
        self._scope = scope
        self.makes_by_itself = self._inner.makes_by_itself
        self.not_applied = self._inner.not_applied
        self.capacity = self._inner.capacity

    def list_machines(self, pool: str) -> tuple[Machine, ...]:
        """Return the pool's machines, those that leave included."""
        found = self._inner.list_machines(self._scope.whole(pool))
        return tuple(replace(machine, pool=pool) for machine in found)

    def list_references(self, pool: str) -> tuple[str, ...]:
        """Return the pairs of sets that would make machines."""
        return self._inner.list_references(self._scope.whole(pool))

    def find_template(self, pool: str) -> Template | None:
        """Return the pool's template, or None."""
        return self._inner.find_template(self._scope.whole(pool))

    def point_template(self, pool: str, template: Template) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the template of {pool}, at {template.revision},")

    def apply_template(self, pool: str, template: Template) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the template of {pool}, at {template.revision},")

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        """Refuse: Cluster API makes machines."""
        raise operators_alone(f"{name} of {pool} at {revision}")

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Refuse: a person deletes a machine by its name, see plane.py."""
        raise operators_alone(f"{name} ({reason}, {asked_by})")

    def mark_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"that {name} goes first ({reason}, {asked_by})")

    def change_machine(self, name: str, revision: str) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"{name} at {revision}")

    def apply_settings(self, name: str, settings: NodeSettings) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"{len(settings.labels)} labels of {name}")


def operators_alone(what: str) -> InvariantError:
    """Return the error of a command that would write what the operator alone writes."""
    return InvariantError(f"{what} is the operator's to write, and not a command's")
