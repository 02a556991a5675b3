"""What is published, as objects of a real API server: told, and moving nothing."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairlead.hotfix.published_fixes import PublishedFixes
from fairlead.kube.client import connect
from fairlead.kube.operator import Operator, Settings
from fairlead.kube.resource import HOTFIXES
from fairlead.kube.serve.metrics import OperatorMetrics
from fairlead.kube.serve.payloads import KubePayloads
from fairlead.whole_file import write_whole
from kube.fleet import NAMESPACE, STUB, Fleet, wait_until
from kube.hotfix_catalog import BAKED, FIX, catalog_text
from unit.kube.prometheus_text import parse_metrics

pytestmark = pytest.mark.slow

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def report_of(agent: str) -> bytes:
    return (
        f'{{"run": "1", "agent": "{agent}", "layout": "fairlead", "started": "n", "exit": 0}}'
    ).encode()


def operator_of(fleet: Fleet, depot: Path) -> Operator:
    settings = Settings(
        namespace=NAMESPACE, identity="one", stub=STUB, published=PublishedFixes(depot)
    )
    client = connect(fleet.cluster.admin)
    operator = Operator(client, settings, fleet.said.append)
    fleet.running.append((operator, client))
    operator.start()
    return operator


def fixes_told(fleet: Fleet) -> list[str]:
    return list(fleet.pool("fixed")["status"].get("fixes") or ())


def status_of(fleet: Fleet) -> object:
    return (fleet.admin.find(HOTFIXES, FIX, NAMESPACE) or {}).get("status")


def told_of(fleet: Fleet) -> tuple[str, int]:
    """What a Hotfix says that it mends, and the generation that its status is about."""
    found = fleet.admin.find(HOTFIXES, FIX, NAMESPACE)
    assert found is not None
    return found["spec"]["summary"], found["status"]["observedGeneration"]


def test_a_published_fix_is_told_of_pools_and_in_its_object_and_moves_nothing(
    unmanned: Fleet, tmp_path: Path
) -> None:
    fleet, operator = unmanned, operator_of(unmanned, tmp_path)
    fleet.declare("fixed")
    fleet.settle("fixed")
    machines = fleet.machines("fixed")
    payloads = KubePayloads(operator.world)
    payloads.record_report(f"{NAMESPACE}/fixed", machines[0], report_of(BAKED))
    payloads.record_report(f"{NAMESPACE}/fixed", machines[1], report_of(FIX))
    before = fleet.deployment("fixed")

    write_whole(tmp_path / "catalog.json", catalog_text())
    wait_until(lambda: len(fixes_told(fleet)) == 1, lambda: fleet.said)

    assert fixes_told(fleet)[0].startswith(f"1 machine lacks the fix {FIX}, published at ")
    assert fixes_told(fleet)[0].endswith(
        f": fairlead --kube -n {NAMESPACE} pool adopt fixed replaces those without it"
    )
    told_here = {
        "observedGeneration": 1,
        "state": "published",
        "reach": "everyone",
        "have": 1,
        "lack": 1,
        "lacking": [f"{NAMESPACE}/fixed (1)"],
        "region": "local",
    }
    # An earlier test may have left what was told of its own machines.
    wait_until(lambda: status_of(fleet) == told_here, lambda: status_of(fleet))
    told = parse_metrics(OperatorMetrics(operator).text(NOW))["fairlead_fix_machines"]
    assert told.value(version=FIX, fixed="no") == 1

    write_whole(tmp_path / "catalog.json", catalog_text(withdrawn="it breaks disks"))
    withdrawn = f"1 machine runs with the fix {FIX}, and it was withdrawn: it breaks disks"
    wait_until(lambda: fixes_told(fleet) == [withdrawn], lambda: fixes_told(fleet))
    wait_until(lambda: "it breaks disks" in fleet.cluster.kubectl("get", "hotfixes"))

    edit = json.dumps({"spec": {"summary": "something else"}})
    fleet.cluster.kubectl("patch", f"hf/{FIX}", "--type=merge", "-p", edit)
    wait_until(
        lambda: told_of(fleet) == ("kubelet starts after its disk", 3), lambda: told_of(fleet)
    )

    after = fleet.deployment("fixed")
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["spec"] == before["spec"]
    assert fleet.machines("fixed") == machines
