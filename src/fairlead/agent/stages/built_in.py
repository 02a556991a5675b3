"""Provision by the built-in steps, on an image that brings no bootstrap scripts."""

from __future__ import annotations

from fairlead.agent.report.clock_text import milliseconds
from fairlead.agent.report.last_lines import tell_error
from fairlead.agent.report.status import Outcome
from fairlead.agent.steps.run import run_steps
from fairlead.agent.steps.table import NODE_STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot
    from fairlead.contract.node_config import NodeConfig

# The status of a boot that a built-in step stopped; no AKS script uses this code.
STEP_FAILED = 241

# The fact of the boot report, and so of the status, that tells an unconfirmed node apart.
UNCONFIRMED = "unconfirmed"


def run_built_in_steps(boot: Boot, config: NodeConfig) -> Outcome:
    """Run every step, recording each as `provision/<step>`; the output lists what changed."""
    record = boot.run.record

    def note_step(name: str, _start_ns: int, duration_ns: int, word: str, cause: str) -> None:
        took_ms = milliseconds(duration_ns)
        record.end_step(f"provision/{name}", took_ms, word, cause)
        boot.run.log("INFO", "step", step=name, outcome=word, took_ms=took_ms, cause=cause)

    def tell(error: Exception) -> str:
        return tell_error(boot.run.redactor, error)

    result = run_steps(NODE_STEPS, boot.run.host, config, note_step, tell)
    lines = []
    for run in result.runs:
        outcome = run.outcome
        lines += [f"{run.name}: {change}" for change in outcome.changed]
        lines += [f"{run.name}: already: {found}" for found in outcome.already]
    output = "\n".join(lines)
    if result.error is not None:
        return Outcome(STEP_FAILED, f"step {result.stopped_by}: {result.cause}", output)
    doubts = [run.outcome.unconfirmed for run in result.runs if run.outcome.unconfirmed]
    if doubts:
        record.note(UNCONFIRMED, "; ".join(doubts))
        boot.run.log("WARN", "provisioned, but not confirmed", cause="; ".join(doubts))
    return Outcome(0, output=output)
