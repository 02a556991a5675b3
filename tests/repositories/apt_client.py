"""The real apt with a root of its own: it sees one repository and nothing of this computer."""

import os
import subprocess
from pathlib import Path


class AptClient:
    """`apt-get` and what it says; needs no root."""

    def __init__(self, directory: Path, repository: Path, key: Path) -> None:
        self.directory = directory
        for name in (
            "etc/apt/apt.conf.d", "etc/apt/preferences.d", "var/lib/apt/lists/partial",
            "var/cache/apt/archives/partial", "var/lib/dpkg", "var/log/apt", "tmp",
        ):  # fmt: skip
            (directory / name).mkdir(parents=True)
        (directory / "var/lib/dpkg/status").write_text("")
        source = f"deb [signed-by={key}] file:{repository} ./\n"
        (directory / "etc/apt/sources.list").write_text(source)
        settings = {
            "Dir": directory,
            "Dir::State::status": directory / "var/lib/dpkg/status",
            "APT::Architecture": "amd64",
            "APT::Update::Error-Mode": "any",
            "APT::Sandbox::User": "",
        }
        # Read before any file of this computer, which may forgive what apt refuses by itself.
        config = directory / "etc/apt/own.conf"
        config.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
        self._environment = {**os.environ, "APT_CONFIG": str(config), "LC_ALL": "C.UTF-8"}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["apt-get", *words],
            env=self._environment,
            cwd=self.directory / "tmp",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def update(self) -> str:
        """Return '' if the repository is believed, else what apt says."""
        ran = self.run("update")
        said = ran.stdout + ran.stderr
        return "" if ran.returncode == 0 and "W: " not in said else said

    def versions(self, package: str = "fairlead-node-hotfix") -> list[str]:
        """Return which versions of a package it could install, the newest first."""
        shown = subprocess.run(
            ["apt-cache", "madison", package],
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return [line.split("|")[1].strip() for line in shown.stdout.splitlines()]

    def download(self, version: str) -> str:
        """Return '' if the package was taken, else what apt says."""
        ran = self.run("download", f"fairlead-node-hotfix={version}")
        return "" if ran.returncode == 0 else ran.stdout + ran.stderr
