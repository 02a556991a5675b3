"""
Install a fix with dnf, or with tdnf where that is all there is: one exact version.

Where the image has a root of trust, the package is fetched first, compared with what was signed,
and installed by rpm from that very file. Elsewhere the repository's signatures count. Exit codes
prove nothing here, a failing script of a package ends as a success: rpm is asked afterwards.
"""

from __future__ import annotations

from fairlead.agent.host import is_executable_file, is_regular_file
from fairlead.agent.hotfix.allowed import package_name, signed_package
from fairlead.agent.hotfix.check_file import refuse_baked_files, refuse_other_bytes
from fairlead.agent.hotfix.image_files import DIRECTORY, DNF_REPOSITORY, REPOSITORY_CA, STATE
from fairlead.agent.hotfix.step import run_step, try_step
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot
    from fairlead.trust.metadata import Package

PROGRAMS = ("/usr/bin/dnf", "/usr/bin/tdnf")
ARCHIVES = f"{STATE}/hotfix-archives"
CONNECT_S = 3


class Dnf:
    """One fix, by dnf."""

    __slots__ = ("_boot", "_name", "_version")

    def __init__(self, boot: Boot, version: str) -> None:
        self._boot = boot
        self._name = package_name(boot)
        self._version = version

    def install(self) -> tuple[str, list[str]]:
        """Afterwards this version is installed; return that in words, and the package's files."""
        package = signed_package(self._boot, self._version, "rpm")
        if self._is_installed():
            return f"{self._version} was installed already", self._files()
        program = self._find_program()
        try:
            if package is None:
                self._boot.doing(f"installing {self._name} {self._version} with {program}")
                run_step(self._boot, [*self._dnf(program), "install", self._wanted()])
            else:
                self._install_signed(program, package)
        finally:
            try_step(self._boot, ["rm", "-rf", ARCHIVES])
        if not self._is_installed():
            raise UnavailableError(
                f"{program} ended well, but {self._name} {self._version} is not installed"
            )
        return f"{self._version} installed with {program.rpartition('/')[2]}", self._files()

    def _install_signed(self, program: str, package: Package) -> None:
        self._boot.doing(f"downloading {self._name} {self._version} with {program}")
        host = self._boot.run.host
        try_step(self._boot, ["rm", "-rf", ARCHIVES])
        host.make_directory(ARCHIVES)
        fetch = ["install", "--downloadonly", f"--downloaddir={host.real_path(ARCHIVES)}"]
        run_step(self._boot, [*self._dnf(program), *fetch, self._wanted()])
        beginning = f"{self._wanted()}-"
        found = [name for name in host.list_directory(ARCHIVES) if name.startswith(beginning)]
        if len(found) != 1:
            raise UnavailableError(
                f"{program} downloaded {len(found)} files {beginning}*, expected 1"
            )
        path = f"{ARCHIVES}/{found[0]}"
        refuse_other_bytes(self._boot, path, package)
        files = run_step(self._boot, ["rpm", "-q", "-p", "-l", "--nosignature", path])
        refuse_baked_files(self._boot, files.decode("utf-8", "replace").split("\n"))
        self._boot.doing(f"installing {self._name} {self._version} with rpm")
        run_step(self._boot, ["rpm", "-U", "--oldpackage", "--replacepkgs", path])

    def _find_program(self) -> str:
        for path in PROGRAMS:
            if is_executable_file(self._boot.run.host, path):
                return path
        raise UnavailableError(f"no package manager here: expected {' or '.join(PROGRAMS)}")

    def _wanted(self) -> str:
        return f"{self._name}-{self._version}"

    def _dnf(self, program: str) -> list[str]:
        words = [program, "-y", "--refresh"]
        words += [f"--setopt={name}" for name in ("retries=1", f"timeout={CONNECT_S}")]
        if self._boot.foreign_agent:
            return words  # the image's own repositories
        host = self._boot.run.host
        if not is_regular_file(host, DNF_REPOSITORY):
            raise UnavailableError(f"no package source for fixes: expected {DNF_REPOSITORY}")
        words += [f"--setopt=reposdir={DIRECTORY}", "--setopt=install_weak_deps=0"]
        if is_regular_file(host, REPOSITORY_CA):
            words.append(f"--setopt=sslcacert={REPOSITORY_CA}")
        return words

    def _is_installed(self) -> bool:
        finished = try_step(self._boot, ["rpm", "-q", "--queryformat=%{VERSION}\\n", self._name])
        return finished.exit_code == 0 and finished.output.split() == [self._version.encode()]

    def _files(self) -> list[str]:
        return (
            run_step(self._boot, ["rpm", "-q", "-l", self._name])
            .decode("utf-8", "replace")
            .split("\n")
        )
