"""The packages of one commit are the same bytes, and hold the same files."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shared_cases import REPOSITORY

BUILDER = REPOSITORY / "deploy" / "node" / "build_agent.py"


def build(directory: Path) -> dict[str, Path]:
    """Build in a process of its own, as a person does; return the packages by suffix."""
    subprocess.run([sys.executable, BUILDER, directory], check=True, capture_output=True)
    return {path.suffix: path for path in directory.iterdir() if path.is_file()}


def digests(packages: dict[str, Path]) -> dict[str, str]:
    return {
        suffix: hashlib.sha256(path.read_bytes()).hexdigest() for suffix, path in packages.items()
    }


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def files_of_deb(package: Path) -> set[str]:
    listed = output_of("dpkg-deb", "--contents", package)
    names = (line.split(None, 5)[5].split(" -> ")[0] for line in listed.splitlines())
    return {name.removeprefix(".") for name in names if not name.endswith("/")}


def files_of_rpm(package: Path) -> set[str]:
    form = "[%{FILEMODES:perms} %{FILENAMES}\n]"
    listed = output_of("rpm", "-qp", "--nosignature", "--queryformat", form, package)
    pairs = (line.split(None, 1) for line in listed.splitlines())
    return {name for mode, name in pairs if not mode.startswith("d")}


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("NOT RUN: install dpkg")

    first, second = build(tmp_path / "one"), build(tmp_path / "two")

    assert digests(first) == digests(second)
    assert ".deb" in first


def test_deb_and_rpm_hold_the_same_files(tmp_path: Path) -> None:
    if shutil.which("rpmbuild") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("NOT RUN: install dpkg and rpm")

    packages = build(tmp_path)

    files = files_of_deb(packages[".deb"])
    assert files == files_of_rpm(packages[".rpm"])
    for path in (
        "/usr/bin/fairlead-node",
        "/usr/lib/fairlead/fairlead-node",
        "/usr/lib/systemd/system/aks-node-controller.service",
        "/usr/lib/systemd/system/fairlead-node-check.service",
        "/usr/lib/systemd/system/fairlead-node-seed.service",
        "/usr/lib/systemd/system/fairlead-node.service",
    ):
        assert path in files
