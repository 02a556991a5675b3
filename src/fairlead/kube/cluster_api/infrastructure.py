"""
The infrastructure template of a revision: a copy of the one that the owner names.

Cluster API replaces machines when the name of their template changes, and reads the content of a
template only for new ones. A copy for each revision means that neither happens behind our back:
machines of one revision are all made from the same content, and an edited template waits for the
next rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.errors import ConflictError, InputError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.names import owned, revision_name, split
from fairlead.kube.resource import Resource
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import Template

NAMED = ("apiGroup", "kind", "name")


class AwaitedError(InputError):
    """Something is missing that its owner may make at any moment, and nobody tells us."""


class Infrastructure:
    """
    Copies of infrastructure templates of any provider.

    find_resource: which resource a group and kind are, as the server's discovery says.
    """

    def __init__(
        self, client: KubeClient, find_resource: Callable[[str, str], Resource | None]
    ) -> None:
        self._client = client
        self._find_resource = find_resource

    def reference(self, pool: str, owner: Object, template: Template) -> Object:
        """Return what a machine of this revision refers to; afterwards it is there."""
        named = _named_in(template.machine_template)
        if not all(named.values()):
            raise InputError(
                "names no infrastructure template: expected apiGroup, kind and name",
                field="spec.machineTemplate",
                hint="of the template that machines are to be made from, in the pool's namespace",
            )
        name = revision_name(pool, template.revision)
        self._copy(owner, named, name)
        return {"apiGroup": named["apiGroup"], "kind": named["kind"], "name": name}

    def keep(self, pool: str, owner: Object, revision: Revision) -> None:
        """
        Make the copy of a revision again if it is gone, from what is in the original by now.

        A leader that was deposed while it deleted what another one brought back to life leaves
        machines without it; so does somebody's hand.
        """
        named = _named_in(revision.machine_template)
        if all(named.values()):
            self._copy(owner, named, revision_name(pool, revision.id))

    def let_go(self, pool: str, revision: Revision) -> None:
        """
        Delete the copy of a revision that no machine is made from any more.

        Cluster API adds the Cluster as an owner, so no copy goes by itself. Raises ConflictError
        if another one was made in the meantime.
        """
        named = _named_in(revision.machine_template)
        resource = self._find_resource(named["apiGroup"], named["kind"])
        namespace, name = split(pool)[0], revision_name(pool, revision.id)
        found = self._client.find(resource, name, namespace) if resource else None
        if resource and found:
            self._client.delete(resource, name, namespace, {"uid": found["metadata"]["uid"]})

    def _copy(self, owner: Object, named: Mapping[str, str], name: str) -> None:
        namespace, source = owner["metadata"]["namespace"], named["name"]
        resource = self._find_resource(named["apiGroup"], named["kind"])
        if resource is None:
            raise InputError(
                f"the server has no {named['kind']} in {named['apiGroup']}",
                field="spec.machineTemplate",
                hint="install the infrastructure provider",
            )
        if self._client.find(resource, name, namespace) is not None:
            return
        original = self._client.find(resource, source, namespace)
        if original is None:
            raise AwaitedError(
                f"there is no {resource.kind} {source} in {namespace}",
                field="spec.machineTemplate.name",
            )
        made = {**owned(resource, owner, name), "spec": original["spec"]}
        try:
            self._client.create(resource, made)
        except ConflictError:
            # Somebody made it in between, from the same revision; or a quota changed
            # meanwhile, of which servers say the same.
            if self._client.find(resource, name, namespace) is None:
                raise


def _named_in(machine_template: Mapping[str, Any]) -> dict[str, str]:
    return {part: str(machine_template.get(part, "")) for part in NAMED}
