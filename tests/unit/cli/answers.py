"""What the control plane answers, valid by default; a test changes the one thing it is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def make_plan(**changed: Any) -> dict[str, Any]:
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
    return plan | changed


def make_leaf(leaf: str = "release.version", **changed: Any) -> dict[str, Any]:
    found = {"leaf": leaf, "class": "intent", "owner": "pool owner", "before": "a", "after": "b"}
    return found | changed


def make_held(**changed: Any) -> dict[str, Any]:
    held = {
        "id": "CHG-1042",
        "leaf": "platform.proxy.image",
        "owner": "networking",
        "severity": "routine",
        "since": "2026-11-20T11:59:48.000Z",
        "before": "haproxy@sha256:aa",
        "after": "haproxy@sha256:bb",
    }
    return held | changed


def make_wait(reason: str, says: str, **changed: Any) -> dict[str, Any]:
    return {"for": reason, "says": says, "machine": "", "until": None} | changed


def make_machine(name: str = "workers-1", **changed: Any) -> dict[str, Any]:
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
    return machine | changed


def make_rollout(**changed: Any) -> dict[str, Any]:
    rollout = {
        "reason": "the pool's owner changed release.version",
        "sentence": "Machines are replaced because the pool's owner changed release.version.",
        "started_at": "2026-11-20T11:59:20.000Z",
        "from": {"id": "r1", "hashes": "aa+bb", "version": "1.34.2"},
        "to": {"id": "r2", "hashes": "cc+bb", "version": "1.35.0"},
        "plan": make_plan(change="replace", machines=["workers-1"], estimate_s=60.0),
    }
    return rollout | changed


def make_pool(**changed: Any) -> dict[str, Any]:
    """A settled pool of three."""
    pool = {
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
        "applied": {"id": "r1", "hashes": "aa+bb", "version": "1.34.2"},
        "target": {"id": "r1", "hashes": "aa+bb", "version": "1.34.2"},
        "plan": make_plan(),
    }
    return pool | changed


def make_rolling_pool(**changed: Any) -> dict[str, Any]:
    """A pool of three of which one machine has the target."""
    waits = [make_wait("BudgetSpent", "2 machines wait for their turn")]
    pool = make_pool(
        state="RollingOut",
        updated=1,
        total=4,
        rollout=make_rollout(),
        waits=waits,
        plan=make_plan(change="replace", machines=["workers-2", "workers-3"]),
    )
    return pool | changed
