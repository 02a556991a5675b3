"""What is told in numbers, read back as Prometheus does."""

import json
from datetime import UTC, datetime
from typing import Any

from fairlead.kube.operator import Counted
from fairlead.kube.packed import Packed, packed
from fairlead.kube.serve.metric_text import Metric, Sample, render_metrics
from fairlead.kube.serve.metrics import pass_seconds
from fairlead.kube.serve.pool_metrics import ToldPools, pool_metrics, told_of
from unit.kube.prometheus_text import parse_metrics

NOW = datetime(2026, 7, 10, 12, tzinfo=UTC)


def pool(name: str, state: str, **held: str) -> dict[str, Any]:
    changes = [{"leaf": leaf, "since": since} for leaf, since in held.items()]
    condition = {"type": "ConfigUpdatePending", "status": "True" if held else "False"}
    return {
        "metadata": {"namespace": "default", "name": name},
        "status": {
            "state": state,
            "desired": 5,
            "updated": 2,
            "available": 4,
            "conditions": [condition],
            "record": {"text": json.dumps({"held": changes})},
        },
    }


def test_drift_is_told_by_component_and_age() -> None:
    pools = [
        pool("a", "Drifted", **{"proxy.image": "2026-07-10T11:30:00+00:00"}),
        pool("b", "Drifted", **{"proxy.image": "2026-07-01T12:00:00+00:00"}),
        pool("c", "Drifted", **{"dns.servers": "2026-07-10T11:59:00Z"}),
        pool("d", "Settled"),
    ]

    found = parse_metrics(render_metrics(pool_metrics([told_of(one) for one in pools], NOW)))

    changes = found["fairlead_held_changes"]
    assert changes.value(component="proxy", age="1h") == 1
    assert changes.value(component="proxy", age="1d") == 0
    assert changes.value(component="proxy", age="30d") == 1
    assert changes.value(component="dns", age="1h") == 1
    assert found["fairlead_oldest_held_seconds"].value(component="proxy") == 777_600
    assert found["fairlead_oldest_held_seconds"].value(component="dns") == 60
    assert found["fairlead_held_pools"].value() == 3
    assert found["fairlead_pools"].value(state="Drifted") == 3


def test_progress_is_told_of_pools_that_are_rolled_out_alone() -> None:
    pools = [pool("moves", "RollingOut"), pool("stands", "Settled")]

    found = parse_metrics(render_metrics(pool_metrics([told_of(one) for one in pools], NOW)))

    progress = found["fairlead_rollout_machines"]
    assert progress.value(namespace="default", pool="moves", part="updated") == 2
    assert progress.value(namespace="default", pool="moves", part="desired") == 5
    assert {dict(labels)["pool"] for _, labels in progress.samples} == {"moves"}


def kept(name: str, state: str, version: str, uid: str = "u") -> tuple[tuple[str, str], Packed]:
    one = pool(name, state)
    one["metadata"] |= {"resourceVersion": version, "uid": uid}
    return ("default", name), packed(one)


def test_a_pool_that_changed_is_told_as_it_is_now_and_one_that_went_is_not() -> None:
    told = ToldPools()

    def states(*pools: tuple[tuple[str, str], Packed]) -> list[tuple[str, str]]:
        return [(one.pool, one.state) for one in told.read(pools)]

    assert states(kept("a", "New", "1"), kept("b", "New", "2")) == [("a", "New"), ("b", "New")]
    assert states(kept("a", "Settled", "3"), kept("b", "New", "2")) == [
        ("a", "Settled"),
        ("b", "New"),
    ]
    assert states(kept("b", "New", "2")) == [("b", "New")]
    assert states(kept("b", "Leaving", "2", uid="other")) == [("b", "Leaving")]


def test_a_pool_that_stays_as_it_is_is_unpacked_once() -> None:
    told, key = ToldPools(), ("default", "a")
    told.read([kept("a", "Settled", "7")])

    [found] = told.read([(key, Packed("7", "u", b"unreadable"))])

    assert found.state == "Settled"


def test_passes_are_a_histogram() -> None:
    counted = Counted()
    for seconds in (0.004, 0.005, 0.3, 45.0):
        counted.add_pass(seconds)

    found = parse_metrics(render_metrics([pass_seconds(counted)]))["fairlead_pass_seconds"]

    assert found.value("_bucket", le="0.005") == 2
    assert found.value("_bucket", le="0.25") == 2
    assert found.value("_bucket", le="0.5") == 3
    assert found.value("_bucket", le="30") == 3
    assert found.value("_bucket", le="+Inf") == 4
    assert found.value("_count") == 4
    assert found.value("_sum") == 45.309


def test_what_a_label_holds_cannot_become_another_line() -> None:
    hostile = 'a"} 1\nfairlead_leader 1\\'
    made = Metric("pools", "gauge", "Pools.", (Sample(1, {"state": hostile}),))

    assert parse_metrics(render_metrics([made]))["fairlead_pools"].value(state=hostile) == 1
