"""A fix with the real apt of a distribution, from a really signed repository."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from boot.node import make_node, missing_tools
from boot.roots import base_root
from shared_cases import REPOSITORY

pytestmark = [pytest.mark.root, pytest.mark.slow]

VERSION = "202611.16.3"
PREFIX = f"usr/lib/fairlead-node/hotfix/{VERSION}"
STAGED = "usr/lib/fairlead/fairlead-node-hotfix"


def run(*words: str | Path, cwd: Path | None = None) -> str:
    command = [str(word) for word in words]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, cwd=cwd).stdout


def make_package(directory: Path, version: str = VERSION, more: str = "") -> Path:
    tree = directory / f"tree-{version}"
    place = tree / f"usr/lib/fairlead-node/hotfix/{version}"
    place.mkdir(parents=True)
    (place / "fairlead-node").write_text(f"#!/bin/sh\necho {version}\n")
    (place / "fairlead-node").chmod(0o755)
    if more:
        (tree / more).parent.mkdir(parents=True, exist_ok=True)
        (tree / more).write_text("not the baked agent")
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        f"Package: fairlead-node-hotfix\nVersion: {version}\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.invalid>\nDescription: a fix\n"
    )
    package = directory / f"pool/fairlead-node-hotfix_{version}_all.deb"
    package.parent.mkdir(exist_ok=True)
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, package)
    shutil.rmtree(tree)
    return package


def sign(repository: Path, home: Path) -> bytes:
    """Make the indexes of a flat repository and sign them; return the public key."""
    home.mkdir(mode=0o700, exist_ok=True)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--yes", "--quiet", "--pinentry-mode=loopback",
           "--passphrase="]  # fmt: skip
    if not (home / "pubring.kbx").exists():
        run(*gpg, "--quick-generate-key", "repository", "ed25519", "sign", "never")
    (repository / "Packages").write_text(run("apt-ftparchive", "packages", "pool", cwd=repository))
    (repository / "Release").write_text(run("apt-ftparchive", "release", ".", cwd=repository))
    run(*gpg, "--clearsign", "--output", repository / "InRelease", repository / "Release")
    run("gpgconf", "--homedir", home, "--kill", "all")
    return subprocess.run([*gpg, "--export"], check=True, stdout=subprocess.PIPE).stdout


class Machine:
    """A root with a repository in it, entered without a network."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        self.repository = root / "srv/repository"
        self.repository.mkdir(parents=True)
        hotfix = root / "etc/fairlead/hotfix"
        hotfix.mkdir(parents=True)
        (hotfix / "root.json").write_text("{}")
        (hotfix / "repository.list").write_text(
            "deb [signed-by=/etc/fairlead/hotfix/repository.gpg] copy:/srv/repository ./\n"
        )
        shutil.copytree(
            REPOSITORY / "src", root / "srv/src", ignore=shutil.ignore_patterns("*.pyc")
        )
        shutil.copy(Path(__file__).with_name("staged_in_root.py"), root / "srv/staged_in_root.py")

    def publish(self) -> None:
        key = sign(self.repository, self.home)
        (self.root / "etc/fairlead/hotfix/repository.gpg").write_bytes(key)

    def enter(self, *words: str) -> list[str]:
        return ["unshare", "--net", "--mount", "chroot", str(self.root), *words]

    def stage(self, package: Path, install_s: float = 20) -> dict[str, Any]:
        digest = sha256(package.read_bytes()).hexdigest()
        length = str(package.stat().st_size)
        words = self.enter("/usr/bin/python3", "/srv/staged_in_root.py", VERSION, length, digest)
        found: dict[str, Any] = json.loads(run(*words, str(install_s)).splitlines()[-1])
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    missing = missing_tools("apt-ftparchive", "gpg", "dpkg-deb")
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    with make_node(base_root("bookworm")) as node:
        yield Machine(node.root, tmp_path / "gpg")


def test_the_exact_version_is_installed_verified_and_staged(machine: Machine) -> None:
    package = make_package(machine.repository)
    make_package(machine.repository, "202611.16.30")
    machine.publish()

    found = machine.stage(package)

    assert found["said"] == f"{VERSION} installed with apt-get"
    assert str((machine.root / STAGED).readlink()) == f"../../../{PREFIX}/fairlead-node"
    listed = run(*machine.enter("dpkg-query", "--show", "fairlead-node-hotfix"))
    assert listed.split() == ["fairlead-node-hotfix", VERSION]
    assert not (machine.root / "var/lib/fairlead/hotfix-archives").exists()
    again = machine.stage(package)
    assert again["said"] == f"{VERSION} was installed already"


def test_a_withdrawn_higher_version_is_replaced_by_the_one_that_is_signed(machine: Machine) -> None:
    package = make_package(machine.repository)
    higher = make_package(machine.repository, "202611.16.4")
    machine.publish()
    run(*machine.enter("dpkg", "--install", f"/srv/repository/pool/{higher.name}"))

    assert machine.stage(package)["said"] == f"{VERSION} installed with apt-get"


def test_another_package_than_the_signed_one_is_not_installed(machine: Machine) -> None:
    package = make_package(machine.repository)
    machine.publish()
    other = package.with_name("other")
    other.write_bytes(package.read_bytes() + b"x")

    found = machine.stage(other)

    assert found["said"].startswith("TrustError: ")
    assert "is not the package that was signed" in found["said"]
    assert not (machine.root / PREFIX).exists()


def test_a_package_that_holds_a_file_of_the_baked_agent_is_refused(machine: Machine) -> None:
    package = make_package(machine.repository, more="usr/lib/fairlead/fairlead-node")
    machine.publish()

    found = machine.stage(package)

    assert "a file of the baked agent" in found["said"]
    assert not (machine.root / PREFIX).exists()


def test_a_repository_that_another_key_signed_is_refused(machine: Machine) -> None:
    package = make_package(machine.repository)
    machine.publish()
    machine.home = machine.home.with_name("another")
    sign(machine.repository, machine.home)

    found = machine.stage(package)

    assert found["said"].startswith("UnavailableError: apt-get failed: ")
    assert "NO_PUBKEY" in found["said"] or "not signed" in found["said"]


def test_an_interrupted_dpkg_is_finished_first(machine: Machine) -> None:
    package = make_package(machine.repository)
    machine.publish()
    run(*machine.enter("dpkg", "--unpack", f"/srv/repository/pool/{package.name}"))
    listed = run(*machine.enter("dpkg", "--audit"))
    assert "fairlead-node-hotfix" in listed

    assert machine.stage(package)["said"] == f"{VERSION} installed with apt-get"
    assert run(*machine.enter("dpkg", "--audit")) == ""


def test_a_locked_package_manager_is_waited_for_within_the_deadline(machine: Machine) -> None:
    package = make_package(machine.repository)
    machine.publish()
    lock = (
        "import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); "
        "fcntl.lockf(f, fcntl.LOCK_EX); print('locked', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        machine.enter("/usr/bin/python3", "-c", lock), stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        found = machine.stage(package, install_s=6)
    finally:
        holder.kill()
        holder.communicate()

    assert "lock" in found["said"]
    assert found["took_s"] < 6.5
