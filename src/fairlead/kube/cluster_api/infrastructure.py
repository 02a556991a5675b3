"""
The infrastructure template of a revision: a copy of the one that the owner names.

Cluster API replaces machines when the name of their template changes, and reads the content of a
template only for new ones. A copy for each revision means that neither happens behind our back:
machines of one revision are all made from the same content, and an edited template waits for the
next rollout.
"""

from __future__ import annotations

from collections.abc import Callable

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
        self._made: set[tuple[str, str]] = set()

    def reference(self, pool: str, owner: Object, template: Template) -> Object:
        """Return what a machine of this revision refers to; afterwards it is there."""
        named = {part: str(template.machine_template.get(part, "")) for part in NAMED}
        if not all(named.values()):
            raise InputError(
                "names no infrastructure template: expected apiGroup, kind and name",
                field="spec.machineTemplate",
                hint="of the template that machines are to be made from, in the pool's namespace",
            )
        resource = self._find_resource(named["apiGroup"], named["kind"])
        if resource is None:
            raise InputError(
                f"the server has no {named['kind']} in {named['apiGroup']}",
                field="spec.machineTemplate",
                hint="install the infrastructure provider",
            )
        name = revision_name(pool, template.revision)
        self._copy(resource, owner, named["name"], name)
        return {"apiGroup": named["apiGroup"], "kind": named["kind"], "name": name}

    def let_go(self, pool: str, revision: Revision) -> None:
        """
        Delete the copy of a revision that no machine is made from any more.

        Cluster API adds the Cluster as an owner, so no copy goes by itself.
        """
        named = {part: str(revision.machine_template.get(part, "")) for part in NAMED}
        resource = self._find_resource(named["apiGroup"], named["kind"])
        if resource is not None:
            namespace, name = split(pool)[0], revision_name(pool, revision.id)
            self._client.delete(resource, name, namespace)
            self._made.discard((namespace, name))

    def _copy(self, resource: Resource, owner: Object, source: str, name: str) -> None:
        namespace = owner["metadata"]["namespace"]
        if (namespace, name) in self._made:
            return
        if self._client.find(resource, name, namespace) is None:
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
        self._made.add((namespace, name))
