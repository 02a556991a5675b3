"""What the control plane answers, valid by default; a test changes the one thing it is about.

Fields are given by their names in JSON, as a control plane would send them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairlead.answers.leaf import HeldLeaf, LeafDifference
from fairlead.answers.machine import MachineDetail
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolDetail, RolloutAnswer
from fairlead.answers.text import plain, read_as
from fairlead.answers.wait import Wait

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def make_plan(**changed: Any) -> Plan:
    plan = {
        "pool": "workers",
        "change": "none",
        "because": "",
        "leaves": [],
        "machines": [],
        "estimate_s": 0.0,
        "creates": 0,
        "removes": 0,
        "removed": [],
        "waits": [],
        "intent_hash": "i",
        "platform_hash": "p",
        "is_new": False,
    }
    return read_as(Plan, plain(plan | changed), "plan")


def make_leaf(leaf: str = "release.version", **changed: Any) -> LeafDifference:
    found = {"leaf": leaf, "class": "intent", "owner": "pool owner", "before": "a", "after": "b"}
    return read_as(LeafDifference, plain(found | changed), "leaf")


def make_held(**changed: Any) -> HeldLeaf:
    held = {
        "id": "CHG-1042",
        "leaf": "platform.proxy.image",
        "owner": "networking",
        "severity": "routine",
        "since": "2026-11-20T11:59:48.000Z",
        "before": "haproxy@sha256:aa",
        "after": "haproxy@sha256:bb",
    }
    return read_as(HeldLeaf, plain(held | changed), "held")


def make_wait(reason: str, says: str, **changed: Any) -> Wait:
    wait = {"for": reason, "says": says, "machine": "", "until": None}
    return read_as(Wait, wait | changed, "wait")


def make_machine(name: str = "workers-1", **changed: Any) -> MachineDetail:
    machine: dict[str, Any] = {
        "name": name,
        "pool": "workers",
        "phase": "ready",
        "revision": "r1",
        "booted": "r1",
        "heading_for": "",
        "created_at": "2026-11-20T11:58:00.000Z",
        "ready_at": "2026-11-20T11:58:01.000Z",
        "problem": "",
        "reason": "",
        "kind": "directory",
        "fault": "none",
        "gone_at": None,
        "boot_ms": 412.3,
        "report": None,
        "events": [],
        "difference": [],
        "sentence": f"{name} stays: it has what its pool is told.",
    }
    return read_as(MachineDetail, plain(machine | changed), "machine")


def make_rollout(**changed: Any) -> RolloutAnswer:
    rollout = {
        "reason": "the pool's owner changed release.version",
        "sentence": "Machines are replaced because the pool's owner changed release.version.",
        "started_at": "2026-11-20T11:59:20.000Z",
        "from": {"id": "r1", "version": "1.34.2"},
        "to": {"id": "r2", "version": "1.35.0"},
        "plan": make_plan(change="replace", machines=["workers-1"], estimate_s=60.0),
    }
    return read_as(RolloutAnswer, plain(rollout | changed), "rollout")


def make_pool(**changed: Any) -> PoolDetail:
    """A settled pool of three."""
    pool: dict[str, Any] = {
        "name": "workers",
        "state": "Settled",
        "sentence": "Up to date: every input is as recorded; no machine will be replaced.",
        "version": "1.34.2",
        "desired": 3,
        "updated": 3,
        "available": 3,
        "total": 3,
        "held": [],
        "waits": [],
        "strategy": "RollingUpdate",
        "is_paused": False,
        "halted": "",
        "rollout": None,
        "document": {"spec": {"replicas": 3}},
        "conditions": [],
        "machines": [make_machine(f"workers-{at}") for at in (1, 2, 3)],
        "applied": {"id": "r1", "version": "1.34.2"},
        "target": {"id": "r1", "version": "1.34.2"},
        "plan": make_plan(),
        "summary": "settled: every machine has what is declared, no machine will be replaced",
        "verdict": {"is_complete": True},
    }
    return read_as(PoolDetail, plain(pool | changed), "pool")


def make_rolling_pool(**changed: Any) -> PoolDetail:
    """A pool of three of which one machine has the target."""
    rolling: dict[str, Any] = {
        "state": "RollingOut",
        "updated": 1,
        "total": 4,
        "rollout": make_rollout(),
        "waits": [make_wait("BudgetSpent", "2 machines wait for their turn")],
        "plan": make_plan(change="replace", machines=["workers-2", "workers-3"]),
    }
    return make_pool(**(rolling | changed))
