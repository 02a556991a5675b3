"""How rights are judged by what was done with them: see kube/rights.py."""

from typing import Any

import pytest

from kube.rights import Right, granted, is_used, superfluous

LEASES = ("coordination.k8s.io", "leases", "get")
SECRETS = ("", "secrets", "get")


def role(name: str, *rights: tuple[str, str, str], **kind: Any) -> dict[str, Any]:
    rules = [
        {"apiGroups": [group], "resources": [plural], "verbs": [verb]}
        for group, plural, verb in rights
    ]
    return {"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules, **kind}


def binding(name: str, namespace: str = "") -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    return {
        "kind": kind,
        "metadata": {"name": name, **place},
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": [{"name": "it"}],
    }


def test_a_right_is_judged_where_it_is_bound() -> None:
    documents = [role("r", SECRETS), binding("r", "a"), binding("r", "b")]

    assert [one for _, one in granted(documents, "it")] == [
        Right("a", *SECRETS),
        Right("b", *SECRETS),
    ]
    assert [*granted(documents, "another")] == []


@pytest.mark.parametrize(
    ("bound", "done", "needed"),
    [
        ("", ["default"], True),
        ("", [""], True),
        ("", ["default", "fairlead-system"], True),
        ("", ["fairlead-system"], False),
        ("", [], False),
        ("a", ["a"], True),
        ("a", ["b"], False),
        ("a", [""], False),
    ],
)
def test_what_is_done_at_home_alone_needs_no_right_to_the_cluster(
    bound: str, done: list[str], needed: bool
) -> None:
    assert is_used(Right(bound, *LEASES), [Right(one, *LEASES) for one in done]) is needed
    assert not is_used(Right(bound, *SECRETS), [Right(one, *LEASES) for one in done])


def test_a_right_that_another_rule_gives_as_well_is_one_too_many() -> None:
    twice = [role("r", SECRETS, LEASES), binding("r"), binding("r", "a")]

    assert superfluous(twice, "it") == [
        ("ClusterRole/r", Right("a", *SECRETS)),
        ("ClusterRole/r", Right("a", *LEASES)),
    ]
    assert superfluous([role("r", SECRETS, SECRETS), binding("r")], "it") != []
    assert superfluous([role("r", SECRETS, LEASES), binding("r")], "it") == []
