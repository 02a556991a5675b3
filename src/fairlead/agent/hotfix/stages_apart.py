"""
The three stages of the fix path, in the process that may be killed at any moment.

It has a copy of the boot and a record of its own that is written nowhere: what there is to say is
told, line by line, to the process that waits.
"""

from __future__ import annotations

from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import CHECK, CHOOSE, DOWNLOAD, Boot
from fairlead.contract.hotfix.fact import FACT
from fairlead.contract.json_text import encode_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fairlead.agent.hotfix.image_files import Limits
    from fairlead.agent.hotfix.in_fork import Tell
    from fairlead.agent.stages.stage import StageEnd

STAGES = (CHECK, DOWNLOAD, CHOOSE)

# A stage that raised; the boot passes over it, and says why.
FAILED = "failed"

# The outcome of asking, as the check-hotfix stage notes it.
CHECK_FACT = "check_hotfix"

# What a stage leaves to whoever waits for it: a cause that we find ourselves is the better one.
MARGIN_S = 0.3


def run_stages_apart(boot: Boot, names: tuple[str, ...], limits: Limits, tell: Tell) -> None:
    """Run these stages; tell the end of each, and what each begins to do."""
    from fairlead.agent.boot import attempt

    own = _boot_apart(boot)

    def send(fields: dict[str, Any]) -> None:
        facts = own.run.record.report.facts
        told = {name: facts[name] for name in (CHECK_FACT, FACT) if name in facts}
        tell(own.run.redactor.clean(encode_line({**fields, "facts": told})).encode())

    own.doing = lambda what: send({"doing": what})
    for name in names:
        own.doing(name)
        if name != CHOOSE or name == names[0]:
            # Choosing has what installing left.
            half_s = limits.decide_s if name == CHECK else limits.install_s
            own.fix_until_ns = own.run.host.monotonic_ns() + int((half_s - MARGIN_S) * NS_PER_S)
        end, cause = attempt(name, _work_of(name), own)
        if end is None:
            _note_cause(own, cause)
        how = (FAILED, cause) if end is None else (end.outcome, end.cause)
        takes_over = own.agent == own.run.layout.staged_agent
        send({"stage": name, "outcome": how[0], "cause": how[1], "takes_over": takes_over})


def _boot_apart(boot: Boot) -> Boot:
    """Return a boot that shares what was read so far, and notes what it finds for us alone."""
    run = boot.run
    own = Boot(Run(run.host, run.layout, run.id, is_dry=run.is_dry), boot.inputs)
    own.run.redactor = run.redactor
    own.features = boot.features
    own.foreign_agent = own.agent = boot.foreign_agent
    own.program_flags = boot.program_flags
    own.containerd_version = boot.containerd_version
    own.verified = boot.verified
    return own


def _note_cause(boot: Boot, cause: str) -> None:
    """Say why a fix that is wanted is not used."""
    fact = boot.hotfix_fact()
    if fact.wanted:
        fact.cause = cause
        boot.note_hotfix()


def _work_of(name: str) -> Callable[[Boot], StageEnd]:
    # Each is loaded when its turn comes: what asks need not wait for what installs.
    if name == CHECK:
        from fairlead.agent.stages.check_hotfix import check_hotfix

        return check_hotfix
    if name == DOWNLOAD:
        from fairlead.agent.stages.download_hotfix import download_hotfix

        return download_hotfix
    from fairlead.agent.stages.choose_agent import choose_agent

    return choose_agent
