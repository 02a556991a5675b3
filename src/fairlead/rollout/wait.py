"""
What a rollout waits for. A rollout completes or says why it waits; there is no third state.
"""

import enum
from dataclasses import dataclass
from datetime import datetime


class WaitFor(enum.Enum):
    """The closed list of things to wait for; the value is the stable reason."""

    STOP = "EverythingStopped"
    PAUSE = "Paused"
    WINDOW = "OutsideWindow"
    HALT = "Halted"
    PLAN = "PlanExceeded"
    INPUTS = "InputsUnusable"
    SOAK = "Soaking"
    OWNER = "WaitsForOwner"  # OnDelete
    JOIN = "MachineNotJoined"
    READY = "MachineNotReady"
    LEAVE = "MachineLeaving"
    CHANGE = "MachineChanging"
    OBSERVED = "TemplateNotObserved"
    EDGE = "ReplacedByItsEdge"
    BUDGET = "BudgetSpent"
    RETRY = "PassFailed"  # the controller tries again


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One thing that a rollout waits for. `until` is when it ends by itself, if that is known."""

    wait_for: WaitFor
    says: str
    machine: str = ""
    until: datetime | None = None
