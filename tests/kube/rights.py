"""What accounts of the manifests may do, and what the audit log says that they did."""

import json

from kube.cluster import TestCluster
from kube.fleet import wait_until
from kube.processes import account_of, rendered

Verb = tuple[str, str, str]


def granted(cluster: TestCluster, account: str) -> set[Verb]:
    """What the roles that are bound to an account let it do."""
    objects = rendered(cluster)
    bound = {
        one["roleRef"]["name"]
        for one in objects
        if one["kind"] in ("ClusterRoleBinding", "RoleBinding")
        and any(subject["name"] == account for subject in one["subjects"])
    }
    roles = [one for one in objects if one["kind"] in ("ClusterRole", "Role")]
    added = [
        chosen["matchLabels"]
        for one in roles
        if one["metadata"]["name"] in bound
        for chosen in one.get("aggregationRule", {}).get("clusterRoleSelectors", ())
    ]
    return {
        (group, resource, verb)
        for one in roles
        if one["metadata"]["name"] in bound or one["metadata"].get("labels") in added
        for rule in one["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def asked(cluster: TestCluster, account: str) -> tuple[set[Verb], set[Verb]]:
    """What the account did, and what it was refused."""
    done: set[Verb] = set()
    refused: set[Verb] = set()
    for line in cluster.audit_log.read_text().splitlines():
        entry = json.loads(line)
        about = entry.get("objectRef")
        if entry["user"]["username"] != account_of(account) or not about or "resource" not in about:
            continue
        part = f"/{about['subresource']}" if "subresource" in about else ""
        verb = (about.get("apiGroup", ""), f"{about['resource']}{part}", entry["verb"])
        code = entry["responseStatus"]["code"]
        (refused if code == 403 else done).add(verb)
        if (entry["verb"], code) == ("patch", 201):  # what is applied may have to be made
            done.add((*verb[:2], "create"))
    return done, refused


def check_rights(cluster: TestCluster, account: str) -> None:
    """An account did all that it may, and was refused nothing."""
    may = granted(cluster, account)

    def unused() -> set[Verb]:
        return may - asked(cluster, account)[0]

    # A watch is in the log a moment after it ended.
    wait_until(lambda: unused() == set(), unused)
    done, refused = asked(cluster, account)
    assert (done - may, refused) == (set(), set()), account
