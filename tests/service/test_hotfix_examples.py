"""What --help of the commands about hotfixes and keys tells people to type works as written."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli.command_tree import Command, command_tree
from fairlead.embedded.certificates.authority import make_or_read
from fairlead.hotfix.publish.keys import read_key
from hotfix_depot import SUITE, make_publishing, needs, tiny_packages
from shared_cases import REPOSITORY

# Builds packages of both kinds, with real tools: 20 s.
pytestmark = pytest.mark.slow

FIX = "202611.16.1"
JOIN_KEY = "a key of the lab, 32 bytes or more\n"
PATCH = """\
--- /dev/null
+++ b/src/fairlead/agent/added.py
@@ -0,0 +1 @@
+ADDED = 1
"""
AKS_CONTROL = """\
Package: aks-node-controller
Version: 202611.16.2
Architecture: all
Maintainer: nobody <nobody@example.test>
Description: made by hand
"""


def examples() -> list[Command]:
    every = (command for command in command_tree().every() if not command.children)
    return [command for command in every if command.words[1] in ("hotfix", "keys")]


def name_of(command: Command) -> str:
    return " ".join(command.words[1:])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has what examples name, and a depot in which one fix is published."""
    needs(*SUITE, "patch")
    place = tmp_path_factory.mktemp("examples")
    publishing = make_publishing(place)
    packages = tiny_packages(place, FIX)
    shutil.copytree(publishing.depot.directory, place / "unpublished")
    publishing.publish(packages)
    (place / "build").mkdir()
    for package in packages:
        shutil.copy(package, place / "build")
    for number, name in enumerate(("drive-a", "drive-b", "lost"), 1):
        (place / name).mkdir()
        shutil.copy(publishing.offline / f"root-{number}.pem", place / name)
    (place / "fix.diff").write_text(PATCH)
    (place / "join.key").write_text(JOIN_KEY)
    (place / "join.key").chmod(0o600)
    (place / "certificates").mkdir()
    shutil.copy(make_or_read(place / "certificates").certificate_file, place / "server.pem")
    return place


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of it for one command, whose own result is not there yet."""
    folder = tmp_path / "folder"
    shutil.copytree(prepared, folder)
    (folder / "state").mkdir(mode=0o700)
    name = name_of(request.getfixturevalue("command"))
    depot = "unpublished" if name == "hotfix publish" else "depot"
    shutil.copytree(folder / depot, folder / "state/hotfix")
    shutil.copytree(folder / "offline", folder / "state/hotfix-keys")
    if name == "hotfix publish":
        make_aks_package(folder)
    if name == "hotfix build":
        make_agent_package(folder)
    if name == "keys init":
        shutil.rmtree(folder / "depot")
        shutil.rmtree(folder / "offline")
    return folder


def make_aks_package(folder: Path) -> None:
    root = folder / "aks"
    (root / "opt/azure/containers").mkdir(parents=True)
    (root / "opt/azure/containers/aks-node-controller").write_text("#!/bin/sh\n")
    (root / "DEBIAN").mkdir(mode=0o755)
    (root / "DEBIAN/control").write_text(AKS_CONTROL)
    words = ["dpkg-deb", "--root-owner-group", "--build", str(root), str(folder / "agent.deb")]
    subprocess.run(words, check=True, capture_output=True)


def make_agent_package(folder: Path) -> None:
    builder = REPOSITORY / "deploy/node/build_agent.py"
    subprocess.run([sys.executable, builder, folder / "baked"], check=True, capture_output=True)
    (package,) = (folder / "baked").glob("*.deb")
    package.rename(folder / "agent.deb")


@pytest.mark.parametrize("command", examples(), ids=name_of)
def test_the_example_of_a_hotfix_command_works(command: Command, folder: Path) -> None:
    lines = re.findall(r"^  (\S.*)$", command.example, re.MULTILINE)
    # Which key is replaced is the reader's to say.
    key_id = read_key(folder / "lost/root-3.pem").public_key.keyid

    for line in lines:
        if line.startswith("fairlead hotfix serve"):
            assert served(f"{line} --listen 127.0.0.1:0 --workers 1", folder) == 0, line
            continue
        done = typed(line.replace("3f2a", key_id[:8]), folder)
        assert done.wait(60) == 0, (line, (folder / "said").read_text())


def test_every_command_about_hotfixes_and_keys_has_an_example() -> None:
    silent = [name_of(one) for one in examples() if "\n  fairlead" not in one.example]

    assert len(examples()) > 12
    assert silent == []


def typed(line: str, folder: Path) -> subprocess.Popen[bytes]:
    """Type a line into a shell; what it says goes to `said`."""
    function = f'fairlead() {{ exec "{sys.executable}" -m fairlead "$@"; }}\n'
    with (folder / "said").open("wb") as said:
        return subprocess.Popen(
            ["bash", "-euc", function + line],
            cwd=folder,
            env={**os.environ, "FAIRLEAD_STATE": str(folder / "state")},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )


def served(line: str, folder: Path) -> int:
    """Type a line that serves until it is told to stop; return its exit code."""
    process = typed(line, folder)
    try:
        while process.poll() is None and b"serving " not in (folder / "said").read_bytes():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        process.send_signal(signal.SIGTERM)
        return process.wait(20)
    finally:
        process.kill()
