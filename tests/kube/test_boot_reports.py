"""Boots of machines, as people with roles see them, who may read no Secret."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.deployment import machine_of
from fairlead.kube.resource import BOOT_REPORTS, MACHINES, SECRETS
from kube.cluster import TestCluster
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.person import ROLES, Person
from kube.processes import PayloadProcess, install, said_yes

pytestmark = pytest.mark.slow

PASSWORD = "a-login-that-nobody-sees"  # noqa: S105 - of nothing
ROLES_OF_PEOPLE = ("fairlead-viewer", "fairlead-pool-owner", "fairlead-platform")


@pytest.fixture(scope="module", autouse=True)
def roles(bare: tuple[TestCluster, Any]) -> None:
    bare[0].kubectl("apply", "--server-side", "-k", str(ROLES))
    install(bare[0])


@pytest.fixture
def payload(fleet: Fleet, tmp_path: Path) -> Iterator[PayloadProcess]:
    process = PayloadProcess(fleet.cluster, tmp_path)
    process.wait_until_ready()
    yield process
    process.kill()


def report(cause: str, run: str = "1") -> bytes:
    stages = [["provision", 1.0, 180.0, "stopped", cause]]
    fields = {"run": run, "agent": "202611.17.0", "layout": "fairlead", "started": "n", "exit": 6}
    return json.dumps({**fields, "took_ms": 188.5, "stages": stages}).encode()


def token_of(fleet: Fleet, pool: str) -> str:
    found, _ = fleet.admin.list_all(SECRETS, NAMESPACE, f"fairlead.dev/pool={pool}")
    kept = [one["data"]["kept"] for one in found if one["type"] == "fairlead.dev/token"]
    return str(json.loads(base64.b64decode(kept[0]))["token"])


def keep_login(fleet: Fleet) -> None:
    login = base64.b64encode(f"robot:{PASSWORD}".encode()).decode()
    text = json.dumps({"auths": {"registry.example.test": {"auth": login}}})
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "namespace": NAMESPACE},
        "data": {".dockerconfigjson": base64.b64encode(text.encode()).decode()},
    }
    fleet.admin.apply(SECRETS, secret, manager="owner")


def test_people_see_boots_without_secrets_and_read_no_secret(
    fleet: Fleet, payload: PayloadProcess
) -> None:
    keep_login(fleet)
    fleet.declare("seen", replicas=1, pullSecret={"name": "login"})
    fleet.settle("seen")
    token, (machine,) = token_of(fleet, "seen"), fleet.machines("seen")
    wait_until(lambda: payload.ask(token, machine)[0] == 200)
    # What no agent of ours says, and one with a fault or of somebody else might.
    sent = report(f"pull: {PASSWORD} refused, {token} too; \x1b[2J")
    assert payload.report(token, machine, sent) == 204
    assert payload.report(token, machine, sent) == 204
    assert payload.report(token, machine, report("other", run="2")) == 410

    for number, role in enumerate(ROLES_OF_PEOPLE):
        person = Person(fleet.cluster, f"person{number}", role)
        shown = person.reads("explain", machine)
        assert (shown["report"]["run"], shown["report_problem"]) == ("1", "")
        cause = shown["report"]["stages"][0][4]
        assert cause == "pull: [secret] refused, [secret] too; \x1b[2J"
        drawn = person.says("timeline", machine, "--all")
        assert "pull: [secret] refused, [secret] too" in " ".join(drawn.split())
        assert "\x1b" not in drawn
        for verb, what in (
            ("get", "secrets"),
            ("list", "secrets"),
            ("update", "bootreports.fairlead.dev"),
        ):
            assert not may(fleet, person, verb, what)
        assert may(fleet, person, "get", "bootreports.fairlead.dev")
    kept = fleet.cluster.kubectl("-n", NAMESPACE, "get", "br", machine, "-o", "yaml")
    assert PASSWORD not in kept
    assert token not in kept
    nobody = Person(fleet.cluster, "person3", "fairlead-viewer", home="kube-system")
    assert not may(fleet, nobody, "get", "bootreports.fairlead.dev")

    fleet.cluster.kubectl("-n", NAMESPACE, "delete", "np", "seen")
    wait_until(lambda: fleet.admin.find(BOOT_REPORTS, machine, NAMESPACE) is None)


def may(fleet: Fleet, person: Person, verb: str, what: str) -> bool:
    asked = ["auth", "can-i", verb, what, "-n", NAMESPACE, f"--as={person.name}"]
    return said_yes(fleet.cluster, asked)


def test_reports_of_an_earlier_release_are_shown_and_nobody_speaks_twice(
    fleet: Fleet, tmp_path: Path
) -> None:
    fleet.declare("earlier", replicas=1)
    fleet.settle("earlier")
    token, (machine,) = token_of(fleet, "earlier"), fleet.machines("earlier")
    said = report("the disk is full", run="before")
    keep_as_before(fleet, machine, said)
    template = fleet.deployment("earlier")["spec"]["template"]
    viewer = Person(fleet.cluster, "vera", "fairlead-viewer")
    shown = viewer.reads("explain", machine)
    assert shown["report"] is None
    assert f"it is the Secret report-{machine} of {NAMESPACE}" in shown["report_problem"]

    payload = PayloadProcess(fleet.cluster, tmp_path)
    try:
        payload.wait_until_ready()

        def is_shown() -> bool:
            return viewer.reads("explain", machine)["report"] is not None

        wait_until(is_shown, payload.log.read_text)
        assert viewer.reads("explain", machine)["report"]["run"] == "before"
        assert "the disk is full" in viewer.says("timeline", machine)
        assert payload.report(token, machine, said) == 204
        assert payload.report(token, machine, report("other")) == 410
        assert payload.end() == 0
        assert "Traceback" not in payload.log.read_text()
    finally:
        payload.kill()
    assert fleet.machines("earlier") == [machine]
    assert fleet.deployment("earlier")["spec"]["template"] == template


def keep_as_before(fleet: Fleet, machine: str, said: bytes) -> None:
    """What the payload service of an earlier release left of a boot."""
    found = fleet.admin.find(MACHINES, machine, NAMESPACE)
    assert found is not None
    made: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "fairlead.dev/report",
        "metadata": {
            "name": f"report-{machine}",
            "namespace": NAMESPACE,
            "labels": {"fairlead.dev/pool": "earlier"},
            "annotations": {"fairlead.dev/pair": machine_of(found, "default/earlier").revision},
            "ownerReferences": [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "Machine",
                    "name": machine,
                    "uid": found["metadata"]["uid"],
                }
            ],
        },
        "data": {"report": base64.b64encode(said).decode()},
    }
    fleet.admin.create(SECRETS, made)
    noted = "fairlead.dev/boot-ms=188.5"
    fleet.cluster.kubectl("-n", NAMESPACE, "annotate", "machine", machine, noted)
