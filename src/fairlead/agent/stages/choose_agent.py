"""Choose who provisions: a staged agent that proved itself, else the baked one."""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.host import is_executable_file
from fairlead.agent.stages.download_hotfix import read_resolution
from fairlead.agent.stages.other_agent import prove_staged_agent
from fairlead.agent.stages.stage import done, skipped
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot, StageEnd


def choose_agent(boot: Boot) -> StageEnd:
    """Afterwards `boot.agent` names the program that provisions; '' is this process."""
    boot.agent = boot.foreign_agent
    staged = boot.run.layout.staged_agent
    if not is_executable_file(boot.run.host, staged):
        return skipped("no staged agent")
    resolution = read_resolution(boot, __version__)
    if not resolution.upgrade:
        raise UnavailableError(f"{staged} is there, but no pointer asks for it")
    prove_staged_agent(boot, resolution.resolved)
    boot.agent = staged
    return done(f"staged agent {resolution.resolved}")
