"""
Run a table of steps in order, timing each.

Only OSError and FairleadError are a step's own failure. Anything else is our defect and goes up
to the boot stage, which is the door for those.
"""

from __future__ import annotations

from fairlead.agent.on_failure import STOP_BOOT
from fairlead.agent.steps.step import StepOutcome
from fairlead.contract.boot_report import DONE, SKIPPED, STOPPED
from fairlead.errors import FairleadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fairlead.agent.host import Host
    from fairlead.agent.steps.step import Step
    from fairlead.contract.node_config import NodeConfig

    # Takes the name, the start and the duration in monotonic ns, the word, the cause.
    OnStep = Callable[[str, int, int, str, str], None]


class StepRun:
    """How one step went. `cause` is the step's note, or why it failed."""

    __slots__ = ("cause", "duration_ns", "name", "outcome", "word")

    def __init__(
        self, name: str, duration_ns: int, word: str, cause: str, outcome: StepOutcome
    ) -> None:
        self.name = name
        self.duration_ns = duration_ns
        self.word = word
        self.cause = cause
        self.outcome = outcome


class StepsResult:
    """Every step that ran, in order, and the error that stopped the rest, or None."""

    __slots__ = ("error", "runs")

    def __init__(self, runs: list[StepRun], error: OSError | FairleadError | None) -> None:
        self.runs = runs
        self.error = error

    @property
    def cause(self) -> str:
        """Why the steps stopped, or ''."""
        return self.runs[-1].cause if self.error is not None else ""

    @property
    def stopped_by(self) -> str:
        """The name of the step that stopped the boot, or ''."""
        return self.runs[-1].name if self.error is not None else ""


def run_steps(
    steps: Iterable[Step],
    host: Host,
    config: NodeConfig,
    on_step: OnStep,
    tell: Callable[[Exception], str] = str,
) -> StepsResult:
    """
    Run each step once, in order, up to the first STOP_BOOT failure; tell on_step after each.

    `tell` gives the cause of an error.
    """
    runs: list[StepRun] = []
    for step in steps:
        start_ns = host.monotonic_ns()
        outcome, error = _outcome_or_error(step, host, config)
        duration_ns = host.monotonic_ns() - start_ns
        word, cause = DONE, outcome.note
        if error is not None:
            word = STOPPED if step.on_failure == STOP_BOOT else SKIPPED
            cause = tell(error)
        runs.append(StepRun(step.name, duration_ns, word, cause, outcome))
        on_step(step.name, start_ns, duration_ns, word, cause)
        if word == STOPPED:
            return StepsResult(runs, error)
    return StepsResult(runs, None)


def _outcome_or_error(
    step: Step, host: Host, config: NodeConfig
) -> tuple[StepOutcome, OSError | FairleadError | None]:
    try:
        return step.apply(host, config), None
    except (OSError, FairleadError) as error:
        return StepOutcome([], [], ""), error
