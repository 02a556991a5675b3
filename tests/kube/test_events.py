"""Kubernetes' Events about pools, on a real API server: a copy of the journal, and no more."""

from typing import Any

import pytest

from fairlead.answers.event import Event
from fairlead.errors import UnavailableError
from fairlead.kept_text import parse_value
from fairlead.kube.resource import EVENTS, Resource
from kube.fleet import NAMESPACE, Fleet, wait_until

pytestmark = pytest.mark.slow

WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    is_namespaced=False,
)


def events_of(fleet: Fleet, pool: str) -> list[dict[str, Any]]:
    found, _ = fleet.admin.list_all(EVENTS, NAMESPACE)
    return [one for one in found if one["regarding"].get("uid") == uid_of(fleet, pool)]


def uid_of(fleet: Fleet, pool: str) -> str:
    return str(fleet.pool(pool)["metadata"]["uid"])


def journal_of(fleet: Fleet, pool: str) -> list[Event]:
    return [parse_value(Event, text) for text in fleet.pool(pool)["status"]["journal"]]


def test_every_fact_of_the_journal_is_one_event_that_describe_shows(unmanned: Fleet) -> None:
    fleet, operator = unmanned, unmanned.start_operator()
    fleet.declare("told")
    fleet.settle("told")
    wait_until(lambda: len(events_of(fleet, "told")) == len(journal_of(fleet, "told")))

    told = sorted((one["reason"], one["note"]) for one in events_of(fleet, "told"))
    assert told == sorted((one.kind.value, one.says) for one in journal_of(fleet, "told"))
    about = {one["related"]["name"] for one in events_of(fleet, "told") if "related" in one}
    assert about == set(fleet.machines("told"))
    described = fleet.cluster.kubectl("describe", "np", "told")
    assert "RolloutCompleted" in described.partition("\nEvents:\n")[2]

    # Whoever tells it again, under another name, tells nothing new.
    fleet.stop_operators()
    again = fleet.start_operator("two")
    for event in journal_of(fleet, "told"):
        again.events.add(fleet.pool("told"), event)
    fleet.declare("told", replicas=3)
    fleet.settle("told")
    wait_until(lambda: len(events_of(fleet, "told")) == len(journal_of(fleet, "told")))
    assert len({one["metadata"]["name"] for one in events_of(fleet, "told")}) == len(told) + 1
    assert (operator.events.dropped, again.events.dropped) == (0, 0)


def test_a_pool_settles_while_no_event_can_be_written_and_they_come_later(fleet: Fleet) -> None:
    fleet.admin.create(WEBHOOKS, unreachable_webhook())
    try:
        wait_until(lambda: is_refused(fleet))
        fleet.declare("untold")
        fleet.settle("untold")
        assert events_of(fleet, "untold") == []
        assert any("Events cannot be written" in line for line in fleet.said)
    finally:
        fleet.admin.delete(WEBHOOKS, "no-events")

    wait_until(lambda: len(events_of(fleet, "untold")) == len(journal_of(fleet, "untold")))
    assert {one["type"] for one in events_of(fleet, "untold")} == {"Normal"}


def unreachable_webhook() -> dict[str, Any]:
    rule = {
        "apiGroups": ["events.k8s.io"],
        "apiVersions": ["v1"],
        "resources": ["events"],
        "operations": ["CREATE"],
    }
    webhook = {
        "name": "no-events.fairlead.dev",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    return {
        "apiVersion": WEBHOOKS.api_version,
        "kind": WEBHOOKS.kind,
        "metadata": {"name": "no-events"},
        "webhooks": [webhook],
    }


def is_refused(fleet: Fleet) -> bool:
    """Whether the server has begun to ask the webhook."""
    probe = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"generateName": "probe-", "namespace": NAMESPACE},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "fairlead.dev/test",
        "reportingInstance": "test",
        "action": "Probe",
        "reason": "Probe",
        "type": "Normal",
    }
    try:
        fleet.admin.create(EVENTS, probe)
    except UnavailableError:
        return True
    return False
