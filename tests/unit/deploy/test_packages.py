"""The packages of one commit are the same bytes, and hold the same files."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shared_cases import REPOSITORY

BUILDER = REPOSITORY / "deploy" / "node" / "build_agent.py"


# What one format has and the other has in its header, or has no use for.
ONLY_IN_DEB = {
    "/usr/share/doc/fairlead-node/changelog.gz",
    "/usr/share/lintian/overrides/fairlead-node",
}


def build(directory: Path, umask: int = 0o022) -> dict[str, Path]:
    """Build in a process of its own, as a person does; return the packages by suffix."""
    command: list[str | Path] = [sys.executable, BUILDER, directory]
    subprocess.run(command, check=True, capture_output=True, umask=umask)
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


def test_two_builds_give_the_same_bytes_under_any_umask(tmp_path: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("NOT RUN: install dpkg")

    first, second = build(tmp_path / "one"), build(tmp_path / "two", umask=0o077)

    assert digests(first) == digests(second)
    assert ".deb" in first
    # The root directory of a package is the root directory of a machine.
    listed = output_of("dpkg-deb", "--contents", second[".deb"]).splitlines()
    assert listed[0].split()[0] == "drwxr-xr-x"
    assert listed[0].endswith(" ./")


def test_deb_and_rpm_hold_the_same_files(tmp_path: Path) -> None:
    if shutil.which("rpmbuild") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("NOT RUN: install dpkg and rpm")

    packages = build(tmp_path)

    files = files_of_deb(packages[".deb"])
    assert files - ONLY_IN_DEB == files_of_rpm(packages[".rpm"])
    assert files >= ONLY_IN_DEB
    for path in (
        "/usr/bin/fairlead-node",
        "/usr/lib/fairlead/fairlead-node",
        "/usr/lib/systemd/system/aks-node-controller.service",
        "/usr/lib/systemd/system/fairlead-node-check.service",
        "/usr/lib/systemd/system/fairlead-node-seed.service",
        "/usr/lib/systemd/system/fairlead-node.service",
        "/usr/share/doc/fairlead-node/copyright",
        "/usr/share/man/man8/fairlead-node.8.gz",
    ):
        assert path in files


@pytest.mark.slow
def test_lintian_finds_nothing_that_has_no_reason(tmp_path: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("NOT RUN: install lintian")
    package = build(tmp_path)[".deb"]

    told = output_of("lintian", "--display-info", "--pedantic", "--allow-root", package)

    assert told == ""
    reasons = (BUILDER.parent / "packaging" / "lintian-overrides").read_text().split("\n\n")
    # An override without a sentence before it is a finding that somebody hid.
    assert [reason.startswith("# ") for reason in reasons] == [True] * 3


@pytest.mark.slow
def test_an_rpm_says_its_licence_and_what_changed(tmp_path: Path) -> None:
    if shutil.which("rpmbuild") is None:
        pytest.skip("NOT RUN: install rpm")
    package = build(tmp_path)[".rpm"]

    asked = ("rpm", "-qp", "--nosignature")
    assert output_of(*asked, "--licensefiles", package).split() == [
        "/usr/share/doc/fairlead-node/copyright"
    ]
    assert "- Release 2" in output_of(*asked, "--changelog", package)
