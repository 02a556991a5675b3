"""
Stages in one process, one after the other, and what happens when one fails.

Those of a boot are in boot_stages.py: `provision` has one, and loads no other.
"""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.on_failure import STOP_BOOT
from fairlead.agent.once import note_refusals
from fairlead.agent.report.status import not_started, publish, remove_own_leftovers
from fairlead.agent.run import ERROR, INFORMATIONAL
from fairlead.agent.stages.provision import provision
from fairlead.agent.stages.stage import Stage
from fairlead.contract.boot_report import SKIPPED, STOPPED
from fairlead.errors import FairleadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from fairlead.agent.report.status import Outcome
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot

    Found = TypeVar("Found")
    Subject = TypeVar("Subject")

PROVISION_STAGES = (Stage("provision", provision, STOP_BOOT),)


def run_boot(boot: Boot, stages: tuple[Stage, ...], version: str) -> int:
    """
    Run the stages, leave a verdict, and return the exit code. Never raises.

    Afterwards a status and a sentinel exist, whatever happened, unless the disk refuses both.
    """
    run = boot.run
    run.record.begin(run.id, version, run.layout.name)
    run.event("Provision", "Starting", INFORMATIONAL, run.started_ns)
    _clear_leftovers(run)
    run_stages(stages, boot)
    for trouble in run.bundle_trouble:
        run.record.note("bundle", trouble)
        run.log("WARN", "runs from its sources, which costs time only", cause=trouble)
    # Whatever came since the run began.
    note_refusals(run)
    outcome = boot.outcome or not_started("no stage provisioned this node")
    _leave_verdict(run, outcome)
    exit_code = outcome.exit_code if outcome.is_started else 1
    if exit_code == 0:
        run.event("Provision", "Completed", INFORMATIONAL, run.started_ns)
        run.log("INFO", "provisioned")
    else:
        message = f"fairlead-node exited with error {outcome.error}"
        run.event("Provision", message, ERROR, run.started_ns)
        run.log("ERROR", "not provisioned", error=outcome.error, exit_code=outcome.exit_code)
    run.record.end(exit_code)
    return exit_code


def run_stages(stages: tuple[Stage, ...], boot: Boot) -> None:
    """Run stages in order, record each, and stop where a stop-boot stage fails. Never raises."""
    record = boot.run.record
    for stage in stages:
        start_ms = record.begin_stage(stage.name)
        end, cause = attempt(stage.name, stage.run, boot)
        if end is not None:
            record.end_stage(stage.name, start_ms, end.outcome, end.cause)
            continue
        is_stop = stage.on_failure is STOP_BOOT
        record.end_stage(stage.name, start_ms, STOPPED if is_stop else SKIPPED, cause)
        boot.run.log("ERROR" if is_stop else "WARN", "stage failed", stage=stage.name, cause=cause)
        if is_stop:
            if boot.outcome is None:
                boot.outcome = not_started(cause)
            return


def report_back(run: Run) -> None:
    """
    Tell the control plane and the hotfix service, where there are such, how this run went.

    Called after everything else: a kill in here leaves a run that has ended. Never raises.
    """
    for send in (_send_if_asked, _tell_hotfix_service):
        sent, cause = attempt("send-report", send, run)
        if sent is None:
            run.log("WARN", "boot report not sent", cause=cause)
        elif sent:
            run.log("INFO", "boot report sent", how=sent)


def _send_if_asked(run: Run) -> str:
    if not is_regular_file(run.host, run.layout.boot_document):
        return ""
    from fairlead.agent.report.send_report import send_report

    return send_report(run)


def _tell_hotfix_service(run: Run) -> str:
    fact = run.record.report.facts.get("hotfix")
    if not isinstance(fact, dict) or not fact.get("checked"):
        return ""  # nobody was asked, so nobody waits for the outcome
    from fairlead.agent.hotfix.asking.tell_outcome import tell_outcome

    return tell_outcome(run)


def attempt(
    name: str, work: Callable[[Subject], Found], subject: Subject
) -> tuple[Found | None, str]:
    """Return what the work returns, or None and why there is nothing. Never raises."""
    try:
        return work(subject), ""
    except (FairleadError, OSError) as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - door 1: a defect in a stage obeys the same table
        return None, f"defect in {name}: {error!r}"


def _clear_leftovers(run: Run) -> None:
    try:
        remove_own_leftovers(run)
    except OSError as error:
        run.log("WARN", "leftovers of an earlier run stay", error=str(error))


def _leave_verdict(run: Run, outcome: Outcome) -> None:
    try:
        publish(run, outcome)
    except OSError as error:
        run.log("ERROR", "verdict not published", error=str(error))
