"""
Start the fix path where there is one, and wait for it stage by stage.

Most boots have no hotfix feature and no pointer, or one for another base: they are answered here,
without a second process and without loading anything.
"""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.host import is_executable_file, is_regular_file
from fairlead.agent.stages.read_features import HOTFIX_FEATURE, may_check_hotfix
from fairlead.agent.stages.read_pointer import read_resolution
from fairlead.agent.stages.stage import CHECK, CHOOSE, DOWNLOAD, skipped
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot, StageEnd


def check_hotfix_apart(boot: Boot) -> StageEnd:
    """Ask whether there is a fix, if the feature is on."""
    if not may_check_hotfix(boot):
        return skipped("the hotfix feature is off")
    return _start(boot, CHECK)


def check_hotfix_alone(boot: Boot) -> StageEnd:
    """Ask whether there is a fix: the command, which somebody meant whatever the feature says."""
    boot.features[HOTFIX_FEATURE] = "true"
    return _start(boot, CHECK, CHECK)


def download_hotfix_apart(boot: Boot, last: str = CHOOSE) -> StageEnd:
    """Install the fix that the pointer names, if it names one for us. last: what follows it."""
    if boot.fix_path is not None:
        return boot.fix_path.wait_for(DOWNLOAD)
    if not is_regular_file(boot.run.host, boot.run.layout.pointer):
        return skipped("no pointer file")
    if not boot.foreign_agent:
        resolution = read_resolution(boot, __version__)
        if not resolution.upgrade and not resolution.scripts:
            boot.note_hotfix()
            wanted = resolution.resolved or "none"
            return skipped(f"hotfix for {__version__}: {wanted}, not an upgrade")
    return _start(boot, DOWNLOAD, last)


def download_hotfix_alone(boot: Boot) -> StageEnd:
    """Install it, and prove nothing: the command."""
    return download_hotfix_apart(boot, DOWNLOAD)


def choose_agent_apart(boot: Boot) -> StageEnd:
    """Afterwards `boot.agent` names the program that provisions; '' is this process."""
    boot.agent = boot.foreign_agent
    if boot.fix_path is not None:
        return boot.fix_path.wait_for(CHOOSE)
    staged = boot.run.layout.staged_agent
    if not is_executable_file(boot.run.host, staged):
        return skipped("no staged agent")
    raise UnavailableError(f"{staged} is there, but no pointer asks for it")


def _start(boot: Boot, first: str, last: str = CHOOSE) -> StageEnd:
    from fairlead.agent.hotfix.fix_path import FixPath

    boot.fix_path = FixPath(boot, first, last)
    return boot.fix_path.wait_for(first)
