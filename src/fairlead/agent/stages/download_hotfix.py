"""
Bring what the pointer file names for this agent: script files first, then the agent itself.

Resolution and gate are contract/hotfix/pointer.py: the entry of this agent's own base or nothing,
and only a strictly higher patch of the same base. Runs in the process of the fix path.
"""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.stages.other_agent import baked_version
from fairlead.agent.stages.read_pointer import read_resolution
from fairlead.agent.stages.stage import done, skipped
from fairlead.contract.image_version import may_upgrade
from fairlead.errors import FairleadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot, StageEnd
    from fairlead.contract.hotfix.pointer import Resolution


def download_hotfix(boot: Boot) -> StageEnd:
    """Afterwards a wanted fix is staged beside the baked agent, and script files are written."""
    if not is_regular_file(boot.run.host, boot.run.layout.pointer):
        return skipped("no pointer file")
    baked = baked_version(boot)
    resolution = read_resolution(boot, baked)
    fact = boot.hotfix_fact()
    fact.baked = baked
    fact.wanted = resolution.resolved if resolution.upgrade else ""
    boot.note_hotfix()
    scripts = _bring_script_files(boot, resolution)
    if not resolution.upgrade:
        wanted = resolution.resolved or "none"
        said = f"hotfix for {baked}: {wanted}, not an upgrade"
        return done(f"{scripts}; {said}") if scripts else skipped(said)
    from fairlead.agent.hotfix.stage_fix import stage_fix

    said = stage_fix(boot, resolution.resolved)
    return done(f"{scripts}; {said}" if scripts else said)


def _bring_script_files(boot: Boot, resolution: Resolution) -> str:
    """Return in words what became of them; '' if none are asked for. The agent's fix is apart."""
    if not may_upgrade(resolution.current, resolution.scripts):
        return ""
    from fairlead.agent.hotfix.script_files import NODE_CUSTOM_DATA, write_script_files

    boot.doing(f"writing script files {resolution.scripts}")
    try:
        count = write_script_files(boot.run.host, NODE_CUSTOM_DATA)
    except (FairleadError, OSError) as error:
        boot.run.log("WARN", "script files not written", cause=str(error))
        return f"scripts {resolution.scripts} not written: {error}"
    return f"scripts {resolution.scripts}: {count} files written"
