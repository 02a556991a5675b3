"""
Install the fix and put it beside the baked agent, in one rename; the baked one is never touched.

A fix of ours is a program and a directory below a prefix of its own, and staging it is one link.
The agent of AKS is one file, which is copied.
"""

from __future__ import annotations

from fairlead.agent.files import directory_of
from fairlead.agent.host import is_executable_file
from fairlead.agent.hotfix.allowed import package_name
from fairlead.agent.hotfix.image_files import PREFIX, PROGRAM
from fairlead.agent.hotfix.os_release import find_system
from fairlead.agent.hotfix.step import run_step
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot

# spec/hotfix.md section 3, by ID of os-release.
APT_SYSTEMS = ("debian", "ubuntu")
DNF_SYSTEMS = ("azurelinux", "mariner")


# What `file_mode` adds to the permissions.
PERMISSIONS = 0o7777


def stage_fix(boot: Boot, version: str) -> str:
    """Afterwards this version lies beside the baked agent; return in words how it came there."""
    said, files = _install(boot, version)
    boot.doing(f"staging {version}")
    if boot.foreign_agent:
        _copy_program(boot, files)
    else:
        _link_program(boot, version)
    return said


def program_of(version: str) -> str:
    """Return where the package of a fix of ours puts its program."""
    return f"{PREFIX}/{version}/{PROGRAM}"


def _install(boot: Boot, version: str) -> tuple[str, list[str]]:
    """Return how it was installed, and the files of a package of AKS."""
    if boot.run.host.is_directory:
        from fairlead.agent.hotfix.direct import install_directly

        return install_directly(boot, version), []
    system = find_system(boot.run.host)
    if system in APT_SYSTEMS:
        from fairlead.agent.hotfix.apt import Apt

        return Apt(boot, version).install()
    if system in DNF_SYSTEMS:
        from fairlead.agent.hotfix.dnf import Dnf

        return Dnf(boot, version).install()
    raise UnavailableError(
        f"fixes are installed on {', '.join(APT_SYSTEMS + DNF_SYSTEMS)}; this is "
        f"{system[:40]!r}, which boots as baked"
    )


def _link_program(boot: Boot, version: str) -> None:
    program = program_of(version)
    if not is_executable_file(boot.run.host, program):
        raise UnavailableError(f"the package of {version} holds no program {program}")
    staged = boot.run.layout.staged_agent
    # From where the link lies: in a directory that stands for a machine the root is elsewhere.
    up = "../" * (staged.count("/") - 1)
    _put_beside(boot, ["ln", "-s", "-f", "-n", up + program.lstrip("/")])


def _copy_program(boot: Boot, files: list[str]) -> None:
    baked, name = boot.run.layout.baked_agent, package_name(boot)
    found = [
        path
        for path in files
        if path.rpartition("/")[2] == name
        and path != baked
        and is_executable_file(boot.run.host, path)
    ]
    if len(found) != 1:
        raise UnavailableError(f"the package {name} holds {len(found)} programs of that name")
    mode = boot.run.host.file_mode(baked) or 0o755
    permissions = oct(mode & PERMISSIONS)[2:]
    _put_beside(boot, ["install", "-m", permissions, boot.run.host.real_path(found[0])])


def _put_beside(boot: Boot, words: list[str]) -> None:
    """Run this command with a temporary name as its last word; then rename that."""
    host, staged = boot.run.host, boot.run.layout.staged_agent
    directory, _, name = staged.rpartition("/")
    temporary = f"{directory}/.{name}.fairlead-tmp"
    host.make_directory(directory)
    run_step(boot, [*words, host.real_path(temporary)])
    host.rename(temporary, staged)
    host.sync_directory(directory_of(staged))
