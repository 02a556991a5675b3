"""Choose who provisions: a staged agent that proved itself, else the baked one."""

from __future__ import annotations

from fairlead.agent.host import is_executable_file
from fairlead.agent.stages.other_agent import baked_version, prove_staged_agent
from fairlead.agent.stages.read_pointer import read_resolution
from fairlead.agent.stages.stage import done, skipped
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot, StageEnd


def choose_agent(boot: Boot) -> StageEnd:
    """Afterwards `boot.agent` names the program that provisions; '' is this process."""
    staged = boot.run.layout.staged_agent
    if not is_executable_file(boot.run.host, staged):
        return skipped("no staged agent")
    version = _wanted_version(boot, staged)
    from fairlead.agent.hotfix.allowed import refuse_unless_allowed

    refuse_unless_allowed(boot, version)
    boot.doing(f"proving staged agent {version}")
    prove_staged_agent(boot, version)
    said = _bring_its_script_files(boot, version)
    boot.agent = staged
    fact = boot.hotfix_fact()
    fact.wanted = fact.used = version
    fact.cause = ""
    boot.note_hotfix()
    return done(f"staged agent {version}{said}")


def _wanted_version(boot: Boot, staged: str) -> str:
    try:
        baked = baked_version(boot)
    except UnavailableError as error:
        raise UnavailableError(f"{staged} is there, but {error}") from error
    resolution = read_resolution(boot, baked)
    if not resolution.upgrade:
        raise UnavailableError(f"{staged} is there, but no pointer asks for it")
    return resolution.resolved


def _bring_its_script_files(boot: Boot, version: str) -> str:
    """Write the script files that came with a fix of ours; what fails here refuses the fix."""
    if boot.foreign_agent:
        return ""  # it carries them inside, and writes them itself
    from fairlead.agent.hotfix.script_files import files_of_fix, write_script_files

    path = files_of_fix(boot.run.host, version)
    if not path:
        return ""
    boot.doing(f"writing script files of {version}")
    count = write_script_files(boot.run.host, path, only_replaces=True)
    return f", {count} script files written"
