"""
A change in place that failed is told by the machine's own report, also where no kubelet is left to
say how its Job ended; and a machine that comes back to what it had boots from it once more.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.kube.cluster_api.change_job import job_name
from fairlead.kube.cluster_api.updater import Reach, Updater
from fairlead.kube.resource import BOOT_REPORTS, JOBS, MACHINES
from fairlead.kube.serve.payloads import NOTED, KubePayloads
from fairlead.payload.bearer import Standing
from fairlead.rollout.secrets import hashed
from unit.kube.object_server import ObjectServer
from unit.kube.one_operator import POOL, OneOperator, one_operator
from unit.kube.small_server import small_server

HEADING_FOR, CHANGE = "fairlead.dev/heading-for", "fairlead.dev/change"
SINCE, LATER = "2026-11-18T02:00:00+00:00", "2026-11-18T02:05:00+00:00"
DIED = "kubelet.service died: unknown policy"
TOLD = "stage provision/start-kubelet: kubelet.service died: unknown policy"


def change(to: str, since: str, stage: str = "apply") -> str:
    return json.dumps({"to": to, "stage": stage, "since": since, "problem": ""})


def report(exit_code: int, run: str) -> bytes:
    outcome, cause = ("stopped", DIED) if exit_code else ("done", "")
    fields = {"run": run, "agent": "202611.17.0", "layout": "fairlead", "started": "n"}
    stages = [["provision/start-kubelet", 1.0, 180.0, outcome, cause]]
    return json.dumps({**fields, "took_ms": 9.5, "exit": exit_code, "stages": stages}).encode()


class Changing:
    """A machine of a pool that changes in place, the payload service, and the updater."""

    def __init__(self, one: OneOperator, workload: ObjectServer) -> None:
        self.one, self.workload = one, workload
        world = one.operator.world
        self._copies = world.copies
        self.payloads = KubePayloads(world)
        one.declare(management={"type": "InPlace"})
        one.passes(3)
        (self._pair,) = world.secrets.list_tokens(POOL)
        self.pair = self._pair.id
        one.machine("first")
        self.tell(**{"fairlead.dev/revision": self.pair})
        reach = Reach(world.copies, world.workloads, world.secrets)
        self._updater = Updater(reach, "image:1", one.said.append, lambda: one.now)

    def tell(self, **annotations: str) -> None:
        """Have these annotations at the machine, beside what was noted of its boots."""
        self._told = annotations
        found: Any = self.one.server.get(MACHINES, "first")
        known = found["metadata"].get("annotations") or {}
        noted = {name: value for name, value in known.items() if name in NOTED}
        metadata = {**found["metadata"], "annotations": {**noted, **annotations}}
        parts = {name: found[name] for name in ("spec", "status")}
        self.one.server.put(MACHINES, "first", metadata=metadata, **parts)
        self._copies.look()

    def annotation(self, name: str) -> str:
        found: Any = self.one.server.get(MACHINES, "first")
        return str(found["metadata"]["annotations"].get(name, ""))

    def standing(self) -> Standing:
        """How the machine stands to the token of the pair."""
        bearer = self.payloads.find_bearer(hashed(self._pair.token), "first")
        assert bearer is not None
        return bearer.standing

    def says(self, exit_code: int, run: str) -> None:
        """Let the machine report, and everybody see what came of it."""
        self.payloads.record_report(POOL, "first", report(exit_code, run))
        self.tell(**self._told)  # an API server would have kept it: another manager wrote it

    def run_job(self) -> None:
        """Have the Job of the change, whose pod nobody hears of."""
        found: Any = self.one.server.get(MACHINES, "first")
        name = job_name(found["metadata"]["uid"], self.pair)
        self.workload.put(JOBS, name, metadata={"namespace": "kube-system"}, status={})

    def tick(self) -> dict[str, Any]:
        """Let the updater look; return what is told of the change."""
        self._copies.look()
        self._updater.tick()
        return dict(json.loads(self.annotation(CHANGE)))


@pytest.fixture
def changing() -> Iterator[Changing]:
    workload = ObjectServer()
    with one_operator() as one, small_server(workload) as address:
        one.join(address)
        yield Changing(one, workload)
        one.operator.world.workloads.close()


def test_a_change_whose_boot_failed_has_failed_though_its_job_never_ends(
    changing: Changing,
) -> None:
    changing.tell(**{HEADING_FOR: changing.pair, CHANGE: change(changing.pair, SINCE)})
    changing.run_job()
    assert changing.tick()["stage"] == "apply"

    changing.says(exit_code=241, run="1")

    told = changing.tick()
    assert (told["stage"], told["problem"]) == ("failed", f"its change failed: {TOLD}")


def test_what_an_earlier_change_died_of_is_not_said_of_the_next(changing: Changing) -> None:
    changing.tell(**{HEADING_FOR: changing.pair, CHANGE: change(changing.pair, SINCE)})
    changing.says(exit_code=241, run="1")
    assert changing.annotation("fairlead.dev/boot-failed") == f"{SINCE} {TOLD}"
    changing.tell(**{HEADING_FOR: changing.pair, CHANGE: change(changing.pair, LATER)})
    changing.run_job()

    assert changing.tick()["stage"] == "apply"

    changing.says(exit_code=0, run="2")
    assert changing.annotation("fairlead.dev/boot-failed") == ""


def test_a_machine_that_comes_back_to_what_it_had_is_given_it_once_more(
    changing: Changing,
) -> None:
    assert changing.standing() is Standing.EXPECTED
    changing.says(exit_code=0, run="1")
    assert changing.standing() is Standing.OVER

    # It was on its way to another revision and had not said so, when its owner turned back.
    drain = change(changing.pair, SINCE, stage="drain")
    changing.tell(**{HEADING_FOR: changing.pair, "fairlead.dev/revision": "", CHANGE: drain})
    assert changing.standing() is Standing.UNKNOWN, "it asks again until its change begins"
    changing.tell(**{HEADING_FOR: changing.pair, CHANGE: change(changing.pair, LATER)})
    assert changing.standing() is Standing.EXPECTED

    changing.says(exit_code=0, run="2")
    assert changing.standing() is Standing.OVER
    kept: Any = changing.one.server.get(BOOT_REPORTS, "first")
    assert json.loads(kept["spec"]["report"])["run"] == "2"
    changing.tell(**{"fairlead.dev/revision": changing.pair})
    assert changing.standing() is Standing.OVER
