"""
Ask what fix is meant for this image base, and keep the answer in the pointer file.

Nothing here can fail a boot: the command exits 0 whatever happens, and says what happened as an
event. Asking and judging are in agent/hotfix/, which only a boot with the feature loads.
"""

from __future__ import annotations

from fairlead.agent.run import ERROR, INFORMATIONAL
from fairlead.agent.stages.read_features import may_check_hotfix
from fairlead.agent.stages.stage import done, skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.hotfix.asking.outcomes import Checked
    from fairlead.agent.stages.stage import Boot, StageEnd

# At most 8 s from the feature flag to a decision: spec/hotfix.md section 3.
DECIDE_DEADLINE_S = 8.0

NS_PER_S = 1_000_000_000


def check_hotfix(boot: Boot) -> StageEnd:
    """Refresh the pointer file if the feature is on; afterwards an event names the outcome."""
    if not may_check_hotfix(boot):
        return skipped("the hotfix feature is off")
    if boot.foreign_agent:
        from fairlead.agent.stages.other_agent import ask_foreign_agent

        return ask_foreign_agent(boot, "check-hotfix", DECIDE_DEADLINE_S)
    checked = refresh_pointer(boot)
    cause = f"{checked.outcome}: {checked.reason}" if checked.reason else checked.outcome
    return done(cause + _believed_by(boot, checked))


def _believed_by(boot: Boot, checked: Checked) -> str:
    """Return what to say of a pointer that was written without a signature."""
    from fairlead.agent.hotfix.asking.outcomes import WRITTEN
    from fairlead.agent.hotfix.asking.trusted import SIGNED, trust_of

    if checked.outcome not in WRITTEN or trust_of(boot.run) == SIGNED:
        return ""
    return " (this image has no root of trust: the channel is believed)"


def refresh_pointer(boot: Boot) -> Checked:
    """Ask, write the pointer file if the answer says so, and say how it went."""
    start_ns = boot.run.host.monotonic_ns()
    checked = ask_and_judge(boot)
    tell_checked(boot, checked, start_ns)
    return checked


def ask_and_judge(boot: Boot) -> Checked:
    """Return how asking ended; the pointer file is written if the answer says so. Never raises."""
    from fairlead.agent.hotfix.asking.ask_service import ask_service
    from fairlead.agent.hotfix.asking.outcomes import FAILED, Checked, take_answer
    from fairlead.agent.hotfix.asking.trusted import NOTHING, trust_of
    from fairlead.agent.hotfix.image_files import ANCHOR
    from fairlead.errors import FairleadError

    end_ns = boot.fix_until_ns or boot.run.host.monotonic_ns() + int(DECIDE_DEADLINE_S * NS_PER_S)
    try:
        if trust_of(boot.run) == NOTHING:
            return Checked(FAILED, f"no fix is taken: {ANCHOR} is missing from this image")
        return take_answer(boot, ask_service(boot, end_ns), end_ns)
    except (OSError, FairleadError) as error:
        return Checked(FAILED, str(error))


def tell_checked(boot: Boot, checked: Checked, start_ns: int) -> None:
    """Leave the outcome as an event, a line of the log and a fact of the report."""
    from fairlead.agent.hotfix.asking.outcomes import ERROR_OUTCOMES, NOT_TRUSTED

    run = boot.run
    message = f"check-hotfix outcome={checked.outcome}"
    if checked.reason:
        message += f" error={checked.reason}"
    level = ERROR if checked.outcome in ERROR_OUTCOMES else INFORMATIONAL
    run.event("CheckHotfix", message, level, start_ns)
    run.log("INFO", "check-hotfix", outcome=checked.outcome, reason=checked.reason)
    run.record.note("check_hotfix", checked.outcome)
    fact = boot.hotfix_fact()
    fact.checked = checked.outcome
    if checked.outcome == NOT_TRUSTED:
        fact.cause = checked.reason
    boot.note_hotfix()
