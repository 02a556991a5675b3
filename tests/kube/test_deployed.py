"""The programs as they are installed: their manifests, their accounts, and what those do."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fairlead.kube.resource import BOOT_REPORTS, MACHINES, NODE_POOLS, NODES, SECRETS
from kube.agent_nodes import AgentNodes
from kube.certificates import Authority
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.hotfix_catalog import catalog_text
from kube.invariants import objects_of
from kube.job_nodes import running_nodes
from kube.processes import (
    HOME,
    PayloadProcess,
    Process,
    install,
    kubeconfig_of,
    operator_process,
)
from kube.rights import check_rights
from unit.kube.prometheus_text import parse_metrics

pytestmark = pytest.mark.slow

LATER = timedelta(hours=3)  # longer than superseded pairs live

REPORT = (
    b'{"run": "1", "agent": "202611.17.0", "layout": "fairlead", "started": "n", "exit": 0, '
    b'"took_ms": 188.5, "stages": [["provision", 1.0, 180.0, "done", ""]]}'
)


@pytest.fixture
def payload(unmanned: Fleet, tmp_path: Path) -> Iterator[PayloadProcess]:
    install(unmanned.cluster)
    process = PayloadProcess(unmanned.cluster, tmp_path)
    process.wait_until_ready()
    yield process
    process.kill()


@pytest.fixture
def deployed(payload: PayloadProcess, unmanned: Fleet, tmp_path: Path) -> Iterator[Process]:
    process = operator_process(unmanned.cluster, tmp_path, payload.port)
    process.wait_until_ready()
    yield process
    process.kill()


def test_the_deployed_programs_do_all_with_their_own_accounts_and_need_all_of_it(
    unmanned: Fleet,
    deployed: Process,
    payload: PayloadProcess,
    tmp_path: Path,
) -> None:
    fleet = unmanned
    keep_login(fleet, '{"auths": {}}')
    login = {"name": "login"}
    fleet.declare("deployed", autoRepair=True, pullSecret=login)
    fleet.settle("deployed")
    fleet.declare("deployed", autoRepair=False, labels={"team": "a"}, pullSecret=login)
    fleet.settle("deployed")
    machine = fleet.machines("deployed")[0]
    wait_until(lambda: label_of(fleet, machine, "team") == "a", deployed.log.read_text)
    replace_authority(fleet, deployed, tmp_path)

    boot(fleet, payload, machine)
    read_boot(fleet, machine)

    fleet.declare("deployed", release={"version": "1.34.3"})
    fleet.settle("deployed")
    check_metrics(deployed, payload)
    check_hotfixes(fleet, tmp_path)
    change_in_place(fleet, deployed, tmp_path)
    assert "hands over" in last_words_of(deployed)
    expire_revisions(fleet)
    fleet.admin.delete(NODE_POOLS, "deployed", NAMESPACE)
    wait_until(lambda: fleet.admin.find(NODE_POOLS, "deployed", NAMESPACE) is None)
    wait_until(lambda: fleet.secrets("deployed") == [])
    fleet.stop_operators()

    assert "lets answers under way end" in last_words_of(payload)
    for account in ("fairlead-operator", "fairlead-payload"):
        check_rights(fleet.cluster, account)


def replace_authority(fleet: Fleet, operator: Process, directory: Path) -> None:
    """Another authority reaches user data without a restart, under its name; half of one not."""
    template = fleet.deployment("deployed")["spec"]["template"]
    file, elsewhere = directory / "payload-ca.crt", directory / "other"
    elsewhere.mkdir()
    usual, other = file.read_text(), Authority(elsewhere).text
    assert trusted(fleet, template) == usual
    file.write_text(other[:200])
    wait_until(lambda: "authority: not read" in operator.log.read_text())
    assert trusted(fleet, template) == usual

    for authority in (other, usual):
        file.write_text(authority)
        wait_until(lambda: trusted(fleet, template) == authority, operator.log.read_text)  # noqa: B023
    assert fleet.deployment("deployed")["spec"]["template"] == template


def expire_revisions(fleet: Fleet) -> None:
    """Let an operator with the same account look hours later: pairs of old revisions go."""
    assert revisions_of(fleet) > 1
    later = datetime.now(UTC).replace(microsecond=0) + LATER
    fleet.now = lambda: later
    fleet.reached_by = kubeconfig_of(fleet.cluster, "fairlead-operator")
    fleet.start_operator("later", namespace=HOME)
    wait_until(lambda: revisions_of(fleet) == 1, lambda: fleet.said[-5:])


def revisions_of(fleet: Fleet) -> int:
    return len(objects_of(fleet.admin, "deployed")["noderevisions"])


def trusted(fleet: Fleet, template: Any) -> str:
    """The authority that machines of this template trust the payload service by."""
    name = template["spec"]["bootstrap"]["dataSecretName"]
    found = fleet.admin.find(SECRETS, name, NAMESPACE)
    assert found is not None
    return str(json.loads(base64.b64decode(found["data"]["kept"]))["stub"]["ca"])


def check_hotfixes(fleet: Fleet, depot: Path) -> None:
    (depot / "catalog.json").write_bytes(catalog_text())
    wait_until(lambda: "published" in fleet.cluster.kubectl("-n", HOME, "get", "hotfixes"))


def check_metrics(deployed: Process, payload: PayloadProcess) -> None:
    told = parse_metrics(deployed.get("/metrics")[1])
    assert told["fairlead_pools"].value(state="Settled") >= 1
    assert told["fairlead_leader"].value() == 1
    assert told["fairlead_pass_seconds"].value("_count") > 1
    assert told["fairlead_token_rotations_total"].value() == 0
    answers = parse_metrics(payload.get("/metrics")[1])["fairlead_payload_answers_total"]
    assert (answers.value(status="200"), answers.value(status="204")) == (1, 1)


def boot(fleet: Fleet, payload: PayloadProcess, machine: str) -> None:
    """Let a machine fetch, at first in vain, and report."""
    token = token_of(fleet, "deployed")
    keep_login(fleet, "[]")
    assert payload.ask(token, machine)[0] == 500
    keep_login(fleet, '{"auths": {}}')
    status, body = payload.ask(token, machine)
    assert (status, b"tls_bootstrapping_token" in body) == (200, True)
    wait_until(lambda: "fairlead.dev/booted" in annotations_of(fleet, machine))
    assert payload.report(token, machine, REPORT) == 204
    assert payload.ask(token, machine)[0] == 410


def read_boot(fleet: Fleet, machine: str) -> None:
    """A command tells what a machine reported to the payload service."""

    def says(*words: str) -> Any:
        command = [sys.executable, "-m", "fairlead", "--kube", "--kubeconfig"]
        asked = [*command, str(fleet.cluster.admin), "-n", NAMESPACE, *words, "-o", "json"]
        return json.loads(subprocess.check_output(asked, timeout=60))

    boot = says("timeline", machine)["boot"]
    assert "provision" in json.dumps(boot)
    listed = {
        one["name"]: one["boot_ms"] for one in says("machine", "list", "deployed")["machines"]
    }
    assert [took for took in listed.values() if took is not None] == [188.5]
    assert listed[machine] == 188.5
    shown = says("explain", machine)
    assert (shown["report"]["run"], shown["report_problem"]) == ("1", "")


def last_words_of(process: Process) -> str:
    """End it, and return what it said."""
    assert process.end() == 0
    said = process.log.read_text()
    assert "Traceback" not in said
    return said


def keep_login(fleet: Fleet, text: str) -> None:
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "namespace": NAMESPACE},
        "data": {".dockerconfigjson": base64.b64encode(text.encode()).decode()},
    }
    fleet.admin.apply(SECRETS, secret, manager="owner")


def change_in_place(fleet: Fleet, deployed: Process, tmp_path: Path) -> None:
    """A node is changed by its agent; one that fails is replaced on its owner's word."""
    spec: dict[str, Any] = {"replicas": 1, "management": {"type": "InPlace"}}
    directories = AgentNodes(tmp_path / "nodes")
    with running_nodes(fleet.cluster, directories.run) as nodes:
        fleet.declare("inplace", NAMESPACE, **spec)
        fleet.settle("inplace")
        (machine,) = fleet.machines("inplace")

        for version in ("1.34.3", "1.34.4"):
            fleet.declare("inplace", NAMESPACE, **spec, release={"version": version})
            fleet.settle("inplace")
            assert fleet.machines("inplace") == [machine]
            assert f'"{version}"' in directories.read(machine, "/etc/fairlead/node-config.json")
            told = annotations_of(fleet, machine)
            assert told["fairlead.dev/revision"] == told["fairlead.dev/booted"]
            # Each change is a boot with a report of its own.
            revision = told["fairlead.dev/revision"]
            wait_until(lambda revision=revision: reported(fleet, machine) == revision)  # type: ignore[misc]

        nodes.run = lambda _asked: (50, "no room")
        fleet.declare("inplace", NAMESPACE, **spec, release={"version": "1.34.5"})
        wait_until(lambda: fleet.state("inplace") == "Blocked", deployed.log.read_text)
        resumed: dict[str, Any] = {"release": {"version": "1.34.5"}, "rollout": {"resume": "1"}}
        fleet.declare("inplace", NAMESPACE, **spec, **resumed)
        fleet.settle("inplace")
        assert fleet.machines("inplace") != [machine]
    fleet.admin.delete(NODE_POOLS, "inplace", NAMESPACE)
    wait_until(lambda: fleet.admin.find(NODE_POOLS, "inplace", NAMESPACE) is None)


def test_a_change_goes_on_under_another_operator_when_the_first_is_killed(
    unmanned: Fleet, deployed: Process, payload: PayloadProcess, tmp_path: Path
) -> None:
    fleet = unmanned
    spec: dict[str, Any] = {"replicas": 2, "management": {"type": "InPlace"}}
    directories = AgentNodes(tmp_path / "nodes")
    with running_nodes(fleet.cluster, directories.run) as nodes:
        fleet.declare("killed", NAMESPACE, **spec)
        fleet.settle("killed")
        before = fleet.machines("killed")
        nodes.holds_all = True
        fleet.declare("killed", NAMESPACE, **spec, release={"version": "1.34.3"})
        wait_until(lambda: nodes.waiting() != [], deployed.log.read_text)
        deployed.kill()

        second = operator_process(fleet.cluster, tmp_path, payload.port)
        try:
            wait_until(lambda: "fairlead_leader 1\n" in second.get("/metrics")[1])
            nodes.holds_all = False
            fleet.settle("killed")
        finally:
            second.kill()
        assert sorted(asked.node for asked in nodes.ran) == before
        assert fleet.machines("killed") == before
    fleet.admin.delete(NODE_POOLS, "killed", NAMESPACE)


def token_of(fleet: Fleet, pool: str) -> str:
    for name in fleet.secrets(pool):
        found = fleet.admin.find(SECRETS, name, NAMESPACE)
        if found is not None and found["type"] == "fairlead.dev/token":
            return str(json.loads(base64.b64decode(found["data"]["kept"]))["token"])
    raise AssertionError("no token")


def reported(fleet: Fleet, machine: str) -> str:
    """The pair that a machine last said something of."""
    found = fleet.admin.find(BOOT_REPORTS, machine, NAMESPACE) or {"spec": {"pair": ""}}
    return str(found["spec"]["pair"])


def label_of(fleet: Fleet, node: str, name: str) -> str:
    found = fleet.admin.find(NODES, node) or {"metadata": {}}
    return str((found["metadata"].get("labels") or {}).get(name, ""))


def annotations_of(fleet: Fleet, machine: str) -> dict[str, str]:
    found = fleet.admin.find(MACHINES, machine, NAMESPACE)
    assert found is not None
    return dict(found["metadata"].get("annotations") or {})


def test_two_deployed_operators_hand_over_in_an_orderly_way(
    unmanned: Fleet, deployed: Process, tmp_path: Path
) -> None:
    wait_until(lambda: "fairlead_leader 1\n" in deployed.get("/metrics")[1])
    second = operator_process(unmanned.cluster, tmp_path)
    try:
        second.wait_until_ready()
        assert deployed.get("/healthz") == (200, "ok\n")
        assert "fairlead_leader 0\n" in second.get("/metrics")[1]

        begun = time.monotonic()
        assert deployed.end() == 0
        wait_until(lambda: "fairlead_leader 1\n" in second.get("/metrics")[1])
        assert time.monotonic() - begun < 10
    finally:
        second.kill()
