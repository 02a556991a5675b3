"""
Decide from the pointer file whether a fix is meant for this agent, and stage it.

Resolution and gate are contract/hotfix_pointer.py: the entry of this agent's own base or nothing,
and only a strictly higher patch of the same base.
"""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.files import find_file
from fairlead.agent.host import is_regular_file
from fairlead.agent.stages.stage import skipped
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot, StageEnd
    from fairlead.contract.hotfix.pointer import Resolution

# At most 20 s to download and install: spec/hotfix.md section 3.
INSTALL_DEADLINE_S = 20.0


def download_hotfix(boot: Boot) -> StageEnd:
    """Afterwards a wanted fix is staged beside the baked agent."""
    run = boot.run
    if not is_regular_file(run.host, run.layout.pointer):
        return skipped("no pointer file")
    if boot.foreign_agent:
        from fairlead.agent.stages.other_agent import ask_foreign_agent

        return ask_foreign_agent(boot, "download-hotfix", INSTALL_DEADLINE_S)
    resolution = read_resolution(boot, __version__)
    run.record.note("hotfix", {"resolved": resolution.resolved, "upgrade": resolution.upgrade})
    if not resolution.upgrade:
        wanted = resolution.resolved or "none"
        return skipped(f"hotfix for {__version__}: {wanted}, not an upgrade")
    return stage_hotfix(resolution)


def read_resolution(boot: Boot, current: str) -> Resolution:
    """Return what the pointer file means for an agent of this version."""
    from fairlead.contract.hotfix.pointer import parse_pointer, resolution_of

    text = find_file(boot.run.host, boot.run.layout.pointer)
    pointer = parse_pointer(text or b"")
    if pointer.problem and text is not None:
        boot.run.log("WARN", "hotfix pointer not usable", problem=pointer.problem)
    return resolution_of(pointer, current)


def stage_hotfix(resolution: Resolution) -> StageEnd:
    """Install the resolved version beside the baked agent."""
    raise UnavailableError(
        f"hotfix {resolution.resolved} is wanted, but this agent carries no package installer"
    )
