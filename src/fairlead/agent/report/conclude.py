"""
The verdict of a boot that is over and left none.

Nothing to boot from could be put in place, or the agent died in every try. Without a word from
here a waiter would wait for ever. The word is for this boot only: a machine that an image is made
of has no node config either, and must not hand a verdict to its copies.
"""

from __future__ import annotations

from fairlead.agent.early.find_document import find_boot_inputs
from fairlead.agent.once import note_refusals, refusals
from fairlead.agent.report.status import NOT_STARTED, Outcome, has_verdict, publish_for_this_boot
from fairlead.agent.run import ERROR
from fairlead.agent.wait import describe_progress
from fairlead.contract.boot_report import STOPPED
from fairlead.errors import FairleadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run

STAGE = "conclude"


def conclude(run: Run, version: str) -> int:
    """
    Return 0 if there is a verdict; else leave one that says why there was none, and return 1.

    Whoever calls knows that no run is to come.
    """
    if has_verdict(run.host, run.layout):
        return 0
    cause = _cause(run)
    run.record.begin(run.id, version, run.layout.name)
    note_refusals(run)
    run.record.end_stage(STAGE, run.record.begin_stage(STAGE), STOPPED, cause)
    run.log("ERROR", "not provisioned", error=cause, exit_code=NOT_STARTED)
    run.event("Provision", f"fairlead-node exited with error {cause}", ERROR, run.started_ns)
    publish_for_this_boot(run, Outcome(NOT_STARTED, cause))
    run.record.end(1)
    return 1


def _cause(run: Run) -> str:
    progress = describe_progress(run.host, run.layout)
    try:
        inputs = find_boot_inputs(run)
    except (FairleadError, OSError) as error:
        return f"what this machine boots from could not be put in place: {error}"
    if inputs is None:
        cause = "no node config, NBC command or boot document came to this machine"
        return "; ".join([cause, *refusals(run)])
    return f"every run of the agent ended without a verdict: {progress}"
