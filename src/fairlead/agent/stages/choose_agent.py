"""Choose who provisions: a staged agent that proved itself, else the baked one."""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.host import is_executable_file
from fairlead.agent.stages.download_hotfix import read_resolution
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
    resolution = read_resolution(boot, _baked_version(boot))
    boot.run.record.note("hotfix", {"resolved": resolution.resolved, "upgrade": resolution.upgrade})
    if not resolution.upgrade:
        raise UnavailableError(f"{staged} is there, but no pointer asks for it")
    from fairlead.agent.stages.other_agent import prove_staged_agent

    prove_staged_agent(boot, resolution.resolved)
    boot.agent = staged
    return done(f"staged agent {resolution.resolved}")


def _baked_version(boot: Boot) -> str:
    """Return the version that a staged agent must be a fix of."""
    if not boot.foreign_agent:
        return __version__
    from fairlead.agent.stages.other_agent import ask_foreign_version

    version = ask_foreign_version(boot)
    if not version:
        raise UnavailableError(
            f"{boot.run.layout.staged_agent} is there, but {boot.foreign_agent} does not say "
            "which version it would replace"
        )
    return version
