"""
What accounts of the manifests may do, rule by rule, and what the audit log says that they did.

A rule is judged where it is bound: in one namespace, or for the cluster. What is bound for the
cluster must have been used for all of it at once, or outside of the namespace that the programs
have for themselves: what an account does there alone belongs into a Role.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kube.cluster import TestCluster
from kube.fleet import wait_until
from kube.processes import HOME, account_of, rendered

# For the cluster, and what needs no namespace.
EVERYWHERE = ""


@dataclass(frozen=True, order=True)
class Right:
    """One verb of one rule, or one that was used, and where."""

    namespace: str
    group: str
    resource: str
    verb: str


def granted(documents: Iterable[Any], account: str) -> Iterator[tuple[str, Right]]:
    """Which rights an account has by each role that is bound to it, once for each rule with it."""
    objects = [*documents]
    roles = [one for one in objects if one["kind"] in ("ClusterRole", "Role")]
    for binding in objects:
        if binding["kind"] not in ("ClusterRoleBinding", "RoleBinding"):
            continue
        if not any(subject["name"] == account for subject in binding["subjects"]):
            continue
        namespace = binding["metadata"].get("namespace", EVERYWHERE)
        for role in _roles_of(binding["roleRef"], roles):
            for right in _rights_of(role, namespace):
                yield f"{role['kind']}/{role['metadata']['name']}", right


def _roles_of(reference: Any, roles: list[Any]) -> Iterator[Any]:
    """The role that is bound, and those that are added to it."""
    for role in roles:
        if (role["kind"], role["metadata"]["name"]) != (reference["kind"], reference["name"]):
            continue
        yield role
        for chosen in role.get("aggregationRule", {}).get("clusterRoleSelectors", ()):
            yield from (
                one for one in roles if one["metadata"].get("labels") == chosen["matchLabels"]
            )


def _rights_of(role: Any, namespace: str) -> Iterator[Right]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield Right(namespace, group, resource, verb)


def asked(cluster: TestCluster, account: str, since: int = 0) -> tuple[set[Right], set[Right]]:
    """What the account did, and what it was refused. since: bytes of the log that are older."""
    done: set[Right] = set()
    refused: set[Right] = set()
    for line in cluster.audit_log.read_bytes()[since:].splitlines():
        entry = json.loads(line)
        about = entry.get("objectRef")
        if entry["user"]["username"] != account_of(account) or not about or "resource" not in about:
            continue
        part = f"/{about['subresource']}" if "subresource" in about else ""
        place = (about.get("namespace", EVERYWHERE), about.get("apiGroup", ""))
        resource = f"{about['resource']}{part}"
        code = entry["responseStatus"]["code"]
        (refused if code == 403 else done).add(Right(*place, resource, entry["verb"]))
        if (entry["verb"], code) == ("patch", 201):  # what is applied may have to be made
            done.add(Right(*place, resource, "create"))
    return done, refused


def is_used(right: Right, done: Iterable[Right]) -> bool:
    """Whether a right was needed where it is bound, and no smaller one would have done."""
    where = {
        one.namespace
        for one in done
        if (one.group, one.resource, one.verb) == (right.group, right.resource, right.verb)
    }
    if right.namespace != EVERYWHERE:
        return right.namespace in where
    return bool(where - {HOME})


def allows(right: Right, done: Right) -> bool:
    """Whether a right is one to do this."""
    is_there = right.namespace in (EVERYWHERE, done.namespace)
    same = (right.group, right.resource, right.verb) == (done.group, done.resource, done.verb)
    return is_there and same


def superfluous(documents: Iterable[Any], account: str) -> list[tuple[str, Right]]:
    """Rights that another rule gives as well, there or everywhere."""
    rights = [*granted(documents, account)]
    return [
        (role, one)
        for at, (role, one) in enumerate(rights)
        if any(allows(other, one) for _, other in [*rights[:at], *rights[at + 1 :]])
    ]


def check_rights(cluster: TestCluster, account: str) -> None:
    """An account needed every rule that it has, where it has it, and was refused nothing."""
    documents = rendered(cluster)
    may = [*granted(documents, account)]
    assert superfluous(documents, account) == [], account

    def unused() -> list[tuple[str, Right]]:
        done, _ = asked(cluster, account)
        return sorted((role, one) for role, one in may if not is_used(one, done))

    # A watch is in the log a moment after it ended.
    wait_until(lambda: unused() == [], unused)
    done, refused = asked(cluster, account)
    beyond = {one for one in done if not any(allows(right, one) for _, right in may)}
    assert (beyond, refused) == (set(), set()), f"{account}: {beyond}, refused {refused}"
