"""
Whether following a pool may end: complete, or stuck on something that only a person can end.

Pure: what the control plane says about one pool goes in. A window and a pause with an end are
waited for; a halt, a pause without one, the kill switch and OnDelete are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Nothing goes on until somebody acts, whatever machines are still doing.
PERSONAL = {
    "EverythingStopped": "fairlead platform set stopEverything=false",
    "Halted": "fairlead pool resume {pool}",
    "Paused": "fairlead pool resume {pool}",
    "PlanExceeded": "fairlead plan -f FILE, then fairlead apply -f FILE",
    "InputsUnusable": "fairlead explain {pool}",
    "WaitsForOwner": "fairlead machine delete NAME",
}
# A machine whose turn has not come says nothing about whether things move.
SPENT = "BudgetSpent"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a pool stands. `needs`: what only a person can end; `command`: what ends it."""

    is_complete: bool
    needs: str = ""
    command: str = ""


def verdict_of(pool: dict[str, Any]) -> Verdict:
    """Return how a pool stands, from what GET /v1/pools/NAME says."""
    if is_complete(pool):
        return Verdict(is_complete=True)
    for wait in pool["waits"]:
        if wait["for"] in PERSONAL and not wait["until"]:
            return _needs(wait["says"], PERSONAL[wait["for"]], pool)
    for name, problem in _failures(pool):
        return _needs(f"{name} failed: {problem}", f"fairlead machine delete {name}", pool)
    return Verdict(is_complete=False)


def is_complete(pool: dict[str, Any]) -> bool:
    """Say whether every machine has what is declared and no pass has anything left to do."""
    plan = pool["plan"]
    # Under the kill switch `desired` is still what the template says.
    asked = spec_of(pool).get("replicas", pool["desired"])
    is_counted = pool["updated"] == pool["available"] == pool["total"] == pool["desired"] == asked
    has_steps = plan["machines"] or plan["creates"] or plan["removes"]
    return is_counted and not pool["rollout"] and not has_steps


def spec_of(pool: dict[str, Any]) -> dict[str, Any]:
    """Return what the owner declared."""
    spec: dict[str, Any] = pool["document"].get("spec") or {}
    return spec


def _needs(says: str, command: str, pool: dict[str, Any]) -> Verdict:
    return Verdict(is_complete=False, needs=says, command=command.format(pool=pool["name"]))


def _failures(pool: dict[str, Any]) -> list[tuple[str, str]]:
    """Return machines and what they died of, if nobody replaces them and nothing else moves."""
    failed = {
        machine["name"]: machine["problem"]
        for machine in pool["machines"]
        if machine["phase"] == "failed"
    }
    moving = [machine for machine in pool["machines"] if machine["phase"] in ("booting", "leaving")]
    waits = [wait for wait in pool["waits"] if wait["for"] != SPENT]
    if spec_of(pool).get("autoRepair") is True or moving:
        return []
    if any(wait["machine"] not in failed for wait in waits):
        return []
    return sorted(failed.items())
