"""
Who asks, as the API server knows them, and which role that is.

Roles are the server's own: three ClusterRoles of deploy/kube/roles, with the words of the
embedded mode. What the server refuses is told with the role that would be needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.answers.reply import Identity
from fairlead.answers.words import Role
from fairlead.errors import InputError
from fairlead.kube.answer import ForbiddenError, Object
from fairlead.kube.client import KubeClient
from fairlead.kube.front.scope import Scope
from fairlead.kube.resource import GROUP, PLATFORM_CONFIGS, Resource

SELF_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", is_namespaced=False
)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    is_namespaced=False,
)

READS = ("get", "list", "watch")

# What the server says: User "alice" cannot update resource "nodepools" in API group "fairlead.dev"
# in the namespace "default".
_REFUSAL = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)"'
    r'(?: in API group "[^"]*")?(?: in the namespace "(?P<namespace>[^"]*)"| at the cluster scope)?'
)


def user_name(client: KubeClient) -> str:
    """Return who the server takes this user for."""
    found = client.create(SELF_REVIEWS, _review(SELF_REVIEWS, {}))
    return str(found["status"]["userInfo"].get("username", ""))


def identity(client: KubeClient, scope: Scope) -> Identity:
    """Return the highest role that this user has. Raises InputError for one without any."""
    name = user_name(client)
    asked = (
        (Role.PLATFORM, "update", PLATFORM_CONFIGS.plural, scope.home),
        (Role.POOL_OWNER, "update", "nodepools", scope.namespace),
        (Role.VIEWER, "list", "nodepools", scope.namespace),
    )
    for role, verb, plural, namespace in asked:
        if _may(client, verb, plural, namespace):
            because = f"may {verb} {plural} in {namespace}"
            return Identity(name=name, role=role, because=because)
    raise InputError(
        f"{name} has no role in the namespace {scope.namespace}",
        hint=_hint(name, Role.VIEWER, scope.namespace),
    )


@contextmanager
def told_by_roles() -> Iterator[None]:
    """Let what the server refuses be told with the role that is needed for it."""
    try:
        yield
    except ForbiddenError as error:
        raise refusal_of(error.problem) from error


def refusal_of(says: str) -> InputError:
    """Return the error for what the server refused, in the words of roles where they fit."""
    found = _REFUSAL.search(says)
    if found is None:
        return InputError(f"the cluster refuses it: {says}")
    user, verb, resource = found["user"], found["verb"], found["resource"]
    namespace = found["namespace"] or ""
    where = f"the namespace {namespace}" if namespace else "all namespaces"
    role = _role_for(verb, resource)
    return InputError(
        f"{user} may not {verb} {resource} in {where}, and that needs {role.value}",
        hint=_hint(user, role, namespace),
    )


def _role_for(verb: str, resource: str) -> Role:
    if verb in READS:
        return Role.VIEWER
    return Role.PLATFORM if resource == PLATFORM_CONFIGS.plural else Role.POOL_OWNER


def _hint(user: str, role: Role, namespace: str) -> str:
    kind, where = ("rolebinding", f" -n {namespace}") if namespace else ("clusterrolebinding", "")
    return (
        "who administers the cluster can give it: "
        f"kubectl create {kind} NAME{where} --clusterrole={role.value} --user={user}"
    )


def _may(client: KubeClient, verb: str, plural: str, namespace: str) -> bool:
    attributes = {"verb": verb, "group": GROUP, "resource": plural, "namespace": namespace}
    review = _review(ACCESS_REVIEWS, {"resourceAttributes": attributes})
    found = client.create(ACCESS_REVIEWS, review)
    return bool(found["status"].get("allowed"))


def _review(resource: Resource, spec: Object) -> Object:
    made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
    return {**made, "spec": spec} if spec else made
