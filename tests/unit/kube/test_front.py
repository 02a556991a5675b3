"""What commands say to a cluster and about it, as far as no server is needed."""

from datetime import UTC, datetime

import pytest

from fairlead.answers.event import Event
from fairlead.answers.words import EventKind
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.kube.answer import document_of
from fairlead.kube.front.documents import labels_of, placed_in
from fairlead.kube.front.identity import refusal_of
from fairlead.kube.front.scope import Scope
from fairlead.kube.said import DECLARED_BY, SAID, annotated, asker_of, said_in

NOW = datetime(2026, 11, 18, 4, 0, tzinfo=UTC)
SCOPE = Scope(namespace="team-a", home="fairlead-system")


def pool(**metadata: Json) -> dict[str, Json]:
    return {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": "NodePool",
        "metadata": {"name": "workers", **metadata},
        "spec": {"replicas": 3},
    }


def said(number: int) -> Event:
    return Event(
        kind=EventKind.POOL_DECLARED,
        pool="team-a/workers",
        at=NOW,
        key=f"PoolDeclared:{number}",
        says="Declared anew: spec.replicas.",
        actor="alice",
    )


def test_pools_of_ones_own_namespace_are_called_by_their_name_alone() -> None:
    assert SCOPE.told("team-a/workers") == "workers"
    assert SCOPE.told("team-b/workers") == "team-b/workers"
    assert SCOPE.whole("workers") == "team-a/workers"
    assert SCOPE.whole("team-b/workers") == "team-b/workers"


def test_a_document_without_a_namespace_is_for_the_namespace_of_the_command() -> None:
    document = pool(labels={"team": "a"}, annotations={"note": "b"})

    [placed] = placed_in([document], SCOPE, "fairlead-system")

    assert placed == pool(namespace="team-a")
    assert labels_of([document]) == {"workers": {"team": "a"}}


def test_a_document_of_another_namespace_is_refused_with_the_flag_to_give() -> None:
    with pytest.raises(InputError) as refused:
        placed_in([pool(namespace="team-b")], SCOPE, "fairlead-system")

    assert refused.value.field == "metadata.namespace"
    assert refused.value.hint == "give --namespace team-b"


def test_the_platforms_document_has_one_name_and_the_place_that_is_meant() -> None:
    document = {"kind": "PlatformConfig", "metadata": {"name": "mine"}, "spec": {}}

    [placed] = placed_in([document], SCOPE, "fairlead-system")

    assert placed == {
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": "fairlead-system"},
        "spec": {},
    }


def test_a_refusal_of_the_server_names_the_role_that_is_needed() -> None:
    error = refusal_of(
        'nodepools.fairlead.dev "workers" is forbidden: User "vera" cannot update resource '
        '"nodepools" in API group "fairlead.dev" in the namespace "team-a"'
    )

    assert error.problem == (
        "vera may not update nodepools in the namespace team-a, and that needs fairlead-pool-owner"
    )
    assert error.hint == (
        "who administers the cluster can give it: kubectl create rolebinding NAME -n team-a "
        "--clusterrole=fairlead-pool-owner --user=vera"
    )


@pytest.mark.parametrize(
    ("verb", "resource", "role"),
    [
        ("list", "machines", "fairlead-viewer"),
        ("create", "rolloutplans", "fairlead-pool-owner"),
        ("update", "platformconfigs", "fairlead-platform"),
    ],
)
def test_each_verb_needs_the_least_role_that_has_it(verb: str, resource: str, role: str) -> None:
    error = refusal_of(
        f'User "vera" cannot {verb} resource "{resource}" in API group "x" at the cluster scope'
    )

    assert f"in all namespaces, and that needs {role}" in error.problem
    assert "kubectl create clusterrolebinding NAME --clusterrole" in error.hint


def test_a_refusal_that_is_no_matter_of_roles_is_told_as_it_is() -> None:
    assert str(refusal_of("quota exceeded")) == "the cluster refuses it: quota exceeded"


def test_what_a_person_did_stands_beside_what_they_wrote() -> None:
    document = document_of(pool(namespace="team-a"))
    annotations = annotated(pool(annotations={"note": "b"}), said(1), document)
    found = pool(namespace="team-a", annotations=annotations)

    assert annotations["note"] == "b"
    assert [event.key for event in said_in(found)] == ["PoolDeclared:1"]
    assert asker_of(found, document) == "alice"


def test_nobody_asked_for_what_somebody_else_wrote_afterwards() -> None:
    document = document_of(pool(namespace="team-a"))
    annotations = annotated(pool(), said(1), document)
    found = {**pool(namespace="team-a", annotations=annotations), "spec": {"replicas": 4}}

    assert asker_of(found, document_of(found)) == ""


def test_the_last_twenty_things_that_people_did_are_kept() -> None:
    found = pool()
    for number in range(25):
        found = pool(annotations=annotated(found, said(number), document_of(found)))

    assert [event.key for event in said_in(found)] == [
        f"PoolDeclared:{number}" for number in range(5, 25)
    ]


@pytest.mark.parametrize("text", ["", "{", "7", '["no event"]', "[3]", '{"a": 1}'])
def test_annotations_that_are_not_ours_say_nothing(text: str) -> None:
    found = pool(namespace="team-a", annotations={SAID: text, DECLARED_BY: text})

    assert said_in(found) == ()
    assert asker_of(found, document_of(found)) == ""
