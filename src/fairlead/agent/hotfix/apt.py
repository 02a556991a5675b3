"""
Install a fix with apt: one source, one exact version, everything bounded.

Every option is from trying apt in booting machines (spec/boot.md section 3): `update` says that all
is well when nobody answered, retries for minutes, and waits for ever behind a trickle. The package
is fetched first and compared with what was signed, and only then installed.
"""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.hotfix.allowed import package_name, signed_package
from fairlead.agent.hotfix.check_file import refuse_baked_files, refuse_other_bytes
from fairlead.agent.hotfix.image_files import APT_SOURCES, REPOSITORY_CA, STATE
from fairlead.agent.hotfix.step import left_s, run_step, said, try_step
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot

SOURCES_DIRECTORY = "/etc/apt/sources.list.d"
AKS_SOURCES = (
    f"{SOURCES_DIRECTORY}/microsoft-prod.list",
    f"{SOURCES_DIRECTORY}/microsoft-prod.sources",
)

ARCHIVES = f"{STATE}/hotfix-archives"

# A distribution may put its own mark behind the version of AKS's agent: 202604.01.3-ubuntu22.04u1.
MARKS = ("-", "+", "~")

# Of a listed file: permissions, owner, size, day and time.
WORDS_BEFORE_PATH = 5

CONNECT_S = 3
# Of what is left; the rest is for what the lock was waited for.
LOCK_SHARE = 0.4


class Apt:
    """One fix, by apt. _marked: its version as the source spells it, which is what apt is told."""

    __slots__ = ("_boot", "_marked", "_name", "_version")

    def __init__(self, boot: Boot, version: str) -> None:
        self._boot = boot
        self._name = package_name(boot)
        self._version = self._marked = version

    def install(self) -> tuple[str, list[str]]:
        """Afterwards this version is installed; return that in words, and the package's files."""
        package = signed_package(self._boot, self._version, "deb")
        if self._is_installed():
            return f"{self._version} was installed already", self._files()
        trouble = self._finish_interrupted()
        try:
            source = self._find_source()
            self._update(source)
            if self._boot.foreign_agent:
                self._marked = self._find_marked(source)
            path = self._download(source)
            if package is not None:
                refuse_other_bytes(self._boot, path, package)
            listed = run_step(self._boot, ["dpkg-deb", "--contents", path])
            refuse_baked_files(self._boot, _paths_in(listed))
            self._install_downloaded(source)
        except UnavailableError as error:
            raise UnavailableError(f"{error}{trouble}") from error
        finally:
            self._clean()
        if not self._is_installed():
            raise UnavailableError(
                f"apt-get ended well, but {self._name} {self._version} is not installed"
            )
        return f"{self._version} installed with apt-get", self._files()

    def _finish_interrupted(self) -> str:
        """A dpkg that was killed blocks every installation until this; return what it lacked."""
        self._boot.doing("finishing what an interrupted dpkg left (dpkg --configure -a)")
        finished = try_step(self._boot, ["dpkg", "--configure", "-a", "--force-confold"])
        return (
            "" if finished.exit_code == 0 else f"; before it, dpkg --configure -a: {said(finished)}"
        )

    def _find_source(self) -> str:
        places = AKS_SOURCES if self._boot.foreign_agent else APT_SOURCES
        for path in places:
            if is_regular_file(self._boot.run.host, path):
                return path
        raise UnavailableError(f"no package source for fixes: expected {' or '.join(places)}")

    def _update(self, source: str) -> None:
        self._boot.doing(f"apt-get update from {source}")
        run_step(self._boot, [*self._apt(source), "update", "--error-on=any"])

    def _find_marked(self, source: str) -> str:
        """Return the newest spelling there of this very version; 202604.01.30 is another."""
        words = ["apt-cache", *self._options(source), "madison", self._name]
        listed = run_step(self._boot, words).decode("utf-8", "replace").split("\n")
        rows = [[word.strip() for word in line.split("|")] for line in listed]
        found = [row[1] for row in rows if row[0] == self._name and self._is_spelling(row[1])]
        if not found:
            raise UnavailableError(f"{source} has no {self._name} {self._version}")
        return found[0]

    def _is_spelling(self, text: str) -> bool:
        marks = tuple(self._version + mark for mark in MARKS) if self._boot.foreign_agent else ()
        return text == self._version or text.startswith(marks)

    def _download(self, source: str) -> str:
        self._boot.doing(f"downloading {self._name} {self._version} with apt-get")
        self._clean()
        self._boot.run.host.make_directory(f"{ARCHIVES}/partial")
        run_step(self._boot, [*self._apt(source), "install", "--download-only", *self._wanted()])
        beginning = f"{self._name}_{self._marked}_"
        names = self._boot.run.host.list_directory(ARCHIVES)
        found = [name for name in names if name.startswith(beginning) and name.endswith(".deb")]
        if len(found) != 1:
            raise UnavailableError(
                f"apt-get downloaded {len(found)} files {beginning}*.deb, expected 1"
            )
        return f"{ARCHIVES}/{found[0]}"

    def _install_downloaded(self, source: str) -> None:
        self._boot.doing(f"installing {self._name} {self._version} with apt-get")
        run_step(self._boot, [*self._apt(source), "install", "--no-download", *self._wanted()])

    def _wanted(self) -> list[str]:
        # A fix that was withdrawn may have left a higher version: what is signed counts.
        return ["--allow-downgrades", "--no-remove", "--reinstall", f"{self._name}={self._marked}"]

    def _apt(self, source: str) -> list[str]:
        return ["apt-get", "-q", "-y", *self._options(source)]

    def _options(self, source: str) -> list[str]:
        settings = {
            "Dir::Etc::sourcelist": source,
            "Dir::Etc::sourceparts": "-",
            "Dir::Cache::archives": f"{ARCHIVES}/",
            "APT::Get::List-Cleanup": "0",
            "APT::Get::Always-Include-Phased-Updates": "1",
            "APT::Install-Recommends": "0",
            "Acquire::Languages": "none",
            "Acquire::http::Timeout": str(CONNECT_S),
            "Acquire::https::Timeout": str(CONNECT_S),
            "Acquire::Retries": "0",
            # Whatever the image says: images are built with some of it switched off.
            "Acquire::Check-Valid-Until": "1",
            "Acquire::AllowInsecureRepositories": "0",
            "APT::Get::AllowUnauthenticated": "0",
            "DPkg::Lock::Timeout": str(max(1, int(left_s(self._boot) * LOCK_SHARE))),
            "Dpkg::Options::": "--force-confold",
        }
        if not self._boot.foreign_agent and is_regular_file(self._boot.run.host, REPOSITORY_CA):
            settings["Acquire::https::CAInfo"] = REPOSITORY_CA
        return [f"-o{name}={value}" for name, value in settings.items()]

    def _is_installed(self) -> bool:
        words = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", self._name]
        finished = try_step(self._boot, words)
        status, _, version = finished.output.decode("utf-8", "replace").partition(" ")
        return finished.exit_code == 0 and status == "installed" and self._is_spelling(version)

    def _files(self) -> list[str]:
        return (
            run_step(self._boot, ["dpkg", "-L", self._name]).decode("utf-8", "replace").split("\n")
        )

    def _clean(self) -> None:
        try_step(self._boot, ["rm", "-rf", ARCHIVES])


def _paths_in(listed: bytes) -> list[str]:
    """Return the paths of `dpkg-deb --contents`, which stand after the time of each line."""
    lines = listed.decode("utf-8", "replace").split("\n")
    words = [line.split(None, WORDS_BEFORE_PATH) for line in lines]
    return [found[-1].partition(" -> ")[0] for found in words if len(found) > WORDS_BEFORE_PATH]
