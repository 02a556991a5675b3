"""The real dnf with an install root of its own. Debian's: no distribution that uses it is here."""

import subprocess
from pathlib import Path

CONFIG = """\
[main]
reposdir={directory}/none
cachedir={directory}/cache
persistdir={directory}/persist
logdir={directory}/log
varsdir={directory}/none
pluginpath={directory}/none
gpgcheck=1
releasever=1
metadata_expire=1
module_platform_id=platform:none

[fairlead]
name=fairlead
baseurl=file://{repository}
gpgkey=file://{key}
gpgcheck=1
repo_gpgcheck=1
"""

# What a fix requires, and an empty root lacks.
PYTHON = """\
Name: python3
Version: 3.11
Release: 1
Summary: Stands for the interpreter
License: none
BuildArch: noarch
%description
Stands for the interpreter.
%files
"""


class DnfClient:
    """`dnf` and what it says."""

    def __init__(self, directory: Path, repository: Path, key: Path) -> None:
        self.root = directory / "root"
        self._config = directory / "dnf.conf"
        for path in (self.root, directory / "none"):
            path.mkdir(parents=True)
        text = CONFIG.format(directory=directory, repository=repository, key=key)
        self._config.write_text(text)
        spec = directory / "python3.spec"
        spec.write_text(PYTHON)
        _run("rpmbuild", "-bb", "--quiet", f"--define=_topdir {directory}/built", str(spec))
        (built,) = (directory / "built/RPMS/noarch").iterdir()
        _run("rpm", f"--root={self.root}", "-i", str(built))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["dnf", f"--config={self._config}", f"--installroot={self.root}", "-y", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def install(self, version: str) -> str:
        """Return '' if the fix was installed, else what dnf says."""
        ran = self.run("--refresh", "install", f"fairlead-node-hotfix-{version}")
        return "" if ran.returncode == 0 else ran.stdout + ran.stderr

    def installed(self) -> str:
        """Return the version that rpm knows of, or ''."""
        words = ["rpm", f"--root={self.root}", "-q", "--qf=%{VERSION}", "fairlead-node-hotfix"]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        return ran.stdout if ran.returncode == 0 else ""


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
