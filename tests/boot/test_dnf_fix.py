"""
A fix with the real dnf and rpm, from a repository that the publisher made and signed.

Not real: the distribution. The root is Debian's with its dnf and rpm, a file says that it is Azure
Linux, and stub packages stand for python3 and /bin/sh. So there is no SELinux, no tdnf, and no
package of a real RPM distribution that a fix could collide with.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from boot.node import make_node, missing_tools
from boot.roots import base_root
from fairlead.hotfix.publish import rpm_repository
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.repository_key import RepositoryKey
from hotfix_depot import SUITE, Publishing, make_publishing, moment, tiny_packages
from shared_cases import REPOSITORY

pytestmark = [pytest.mark.root, pytest.mark.slow]

VERSION = "202611.16.3"
OTHERS = ("202611.16.4", "202611.16.30")
NAME = f"fairlead-node-hotfix-{VERSION}-1.noarch.rpm"
PROGRAM = f"usr/lib/fairlead-node/hotfix/{VERSION}/fairlead-node"
STAGED = "usr/lib/fairlead/fairlead-node-hotfix"
PACKAGES = ("ca-certificates", "dnf", "python3", "rpm")

REPOSITORY_FILE = """\
[fixes]
name=fixes
baseurl=file:///srv/repository
gpgkey=file:///etc/fairlead/hotfix/repository.asc
gpgcheck=1
repo_gpgcheck=1
"""

SPEC = """\
Name: {name}
Version: {version}
Release: 1
Summary: Stands for a package
License: none
BuildArch: noarch
{more}
%description
Stands for a package.
"""


def run(*words: str | Path) -> str:
    command = [str(word) for word in words]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def build_rpm(directory: Path, name: str, version: str, more: str) -> Path:
    spec = directory / f"{name}.spec"
    spec.write_text(SPEC.format(name=name, version=version, more=more))
    run("rpmbuild", "-bb", "--quiet", f"--define=_topdir {directory}/built", spec)
    return directory / f"built/RPMS/noarch/{name}-{version}-1.noarch.rpm"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Publishing:
    missing = missing_tools("dnf", *SUITE)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    directory = tmp_path_factory.mktemp("published")
    made = make_publishing(directory)
    for version in (VERSION, *OTHERS):
        made.publish(tiny_packages(directory, version))
    return made


class Machine:
    """A root with a repository in it, entered without a network."""

    def __init__(self, root: Path, depot: Depot, scratch: Path) -> None:
        self.root = root
        self.depot = depot
        self.scratch = scratch
        hotfix = root / "etc/fairlead/hotfix"
        hotfix.mkdir(parents=True)
        (hotfix / "root.json").write_text("{}")
        (hotfix / "repository.repo").write_text(REPOSITORY_FILE)
        shutil.copy(depot.rpm / "repository.asc", hotfix)
        (root / "etc/os-release").unlink()
        (root / "etc/os-release").write_text('ID="azurelinux"\nVERSION_ID="3.0"\n')
        ignored = shutil.ignore_patterns("*.pyc")
        shutil.copytree(REPOSITORY / "src", root / "srv/src", ignore=ignored)
        shutil.copy(Path(__file__).with_name("staged_in_root.py"), root / "srv")
        stub = build_rpm(scratch, "stub", "1", "Provides: python3 /bin/sh\n%files")
        shutil.copy(stub, root / "srv/stub.rpm")
        self.enter("rpm", "-i", "/srv/stub.rpm")

    def enter(self, *words: str) -> str:
        return run("unshare", "--net", "--mount", "chroot", self.root, *words)

    def serve(self) -> None:
        shutil.rmtree(self.root / "srv/repository", ignore_errors=True)
        shutil.copytree(self.depot.rpm, self.root / "srv/repository")

    def replace(self, package: Path) -> Path:
        """Publish another package under the name of the fix, with our key; return it."""
        RepositoryKey(self.depot).sign_rpm(package)
        shutil.copy(package, self.depot.rpm / NAME)
        rpm_repository.write_index(self.depot, [NAME], moment())
        return self.depot.rpm / NAME

    def stage(
        self, signed: Path | None = None, version: str = VERSION, install_s: float = 20
    ) -> dict[str, Any]:
        package = signed or self.depot.rpm / NAME
        digest = sha256(package.read_bytes()).hexdigest()
        words = [version, str(package.stat().st_size), digest, str(install_s)]
        self.serve()
        return self._staged(*words, f"rpm/fairlead-node-hotfix-{version}-1.noarch.rpm")

    def _staged(self, *words: str) -> dict[str, Any]:
        told = self.enter("/usr/bin/python3", "/srv/staged_in_root.py", *words)
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
        return found

    def stage_foreign(self) -> dict[str, Any]:
        self.serve()
        return self._staged(VERSION, "foreign", "/opt/azure/containers/aks-node-controller", "20")

    def installed(self, name: str = "fairlead-node-hotfix") -> list[str]:
        told = self.enter("rpm", "-qa", "--queryformat=%{VERSION}\n", name)
        return sorted(told.split())


@pytest.fixture
def machine(published: Publishing, tmp_path: Path) -> Iterator[Machine]:
    copied = published.copied_to(tmp_path)
    with make_node(base_root("bookworm", PACKAGES)) as node:
        yield Machine(node.root, copied.depot, tmp_path)


def test_dnf_installs_the_exact_version_and_it_is_verified_and_staged(machine: Machine) -> None:
    found = machine.stage()

    assert found["said"] == f"{VERSION} installed with dnf"
    assert machine.installed() == [VERSION]
    assert str((machine.root / STAGED).readlink()) == f"../../../{PROGRAM}"
    assert (machine.root / PROGRAM).read_text() == f"#!/bin/sh\necho {VERSION} \n"
    assert not (machine.root / "var/lib/fairlead/hotfix-archives").exists()
    assert machine.stage()["said"] == f"{VERSION} was installed already"


def test_dnf_replaces_a_withdrawn_higher_version(machine: Machine) -> None:
    machine.serve()
    machine.enter("rpm", "-i", f"/srv/repository/{NAME.replace(VERSION, OTHERS[1])}")

    assert machine.stage()["said"] == f"{VERSION} installed with dnf"
    assert machine.installed() == [VERSION]


def other_key(machine: Machine) -> None:
    stranger = make_publishing(machine.scratch / "stranger")
    shutil.copy(stranger.depot.rpm / "repository.asc", machine.root / "etc/fairlead/hotfix")


def changed_package(machine: Machine) -> None:
    content = bytearray((machine.depot.rpm / NAME).read_bytes())
    content[-1] ^= 1
    (machine.depot.rpm / NAME).write_bytes(content)


def changed_index(machine: Machine) -> None:
    file = machine.depot.rpm / "repodata/repomd.xml"
    file.write_bytes(file.read_bytes() + b"\n")


def no_such_version(machine: Machine) -> None:
    others = [NAME.replace(VERSION, other) for other in OTHERS]
    rpm_repository.write_index(machine.depot, others, moment())


def failing_package(machine: Machine) -> None:
    more = "%files\n%pre\nexit 1"
    machine.replace(build_rpm(machine.scratch, "fairlead-node-hotfix", VERSION, more))


def without_a_program(machine: Machine) -> None:
    machine.replace(build_rpm(machine.scratch, "fairlead-node-hotfix", VERSION, "%files"))


def no_repository(machine: Machine) -> None:
    (machine.root / "etc/fairlead/hotfix/repository.repo").unlink()


@pytest.mark.parametrize(
    ("hurt", "told"),
    [
        (other_key, "UnavailableError: /usr/bin/dnf failed: Error: "),
        (changed_package, "UnavailableError: /usr/bin/dnf failed: "),
        (changed_index, "UnavailableError: /usr/bin/dnf failed: Error: "),
        (no_such_version, "Unable to find a match: fairlead-node-hotfix-202611.16.3"),
        (failing_package, "UnavailableError: rpm failed: error: "),
        (without_a_program, f"the package of {VERSION} holds no program /{PROGRAM}"),
        (no_repository, "expected /etc/fairlead/hotfix/repository.repo"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_dnf_cannot_install_is_said_and_nothing_is_staged(
    machine: Machine, hurt: Callable[[Machine], None], told: str
) -> None:
    hurt(machine)

    found = machine.stage()

    assert told in found["said"]
    assert not (machine.root / STAGED).exists()
    assert not (machine.root / "var/lib/fairlead/hotfix-archives").exists()


def test_another_package_than_the_signed_one_is_not_given_to_rpm(machine: Machine) -> None:
    signed = Path(shutil.copy(machine.depot.rpm / NAME, machine.scratch / "signed"))
    more = "%files\n%pre\nexit 1"
    machine.replace(build_rpm(machine.scratch, "fairlead-node-hotfix", VERSION, more))

    found = machine.stage(signed)

    assert found["said"].startswith("TrustError: ")
    assert "is not the package that was signed" in found["said"]
    assert machine.installed() == []


def test_a_locked_rpm_database_costs_no_more_than_the_deadline(machine: Machine) -> None:
    path = machine.enter("rpm", "--eval", "%{_rpmlock_path}").strip()
    lock = (
        f"import fcntl, time; f = open({path!r}, 'a'); "
        "fcntl.lockf(f, fcntl.LOCK_EX); print('locked', flush=True); time.sleep(60)"
    )
    words = ["unshare", "--net", "chroot", str(machine.root), "/usr/bin/python3", "-c", lock]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        found = machine.stage(install_s=4)
    finally:
        holder.kill()
        holder.communicate()

    assert "transaction lock" in found["said"]
    assert found["took_s"] < 4.5
    assert not (machine.root / STAGED).exists()


def test_a_fix_of_the_aks_agent_comes_from_the_repositories_of_the_image(machine: Machine) -> None:
    hotfix = machine.root / "etc/fairlead/hotfix"
    (hotfix / "root.json").unlink()
    own = machine.root / "etc/yum.repos.d"
    own.mkdir(parents=True, exist_ok=True)
    (hotfix / "repository.repo").rename(own / "microsoft-prod.repo")
    baked = machine.root / "opt/azure/containers/aks-node-controller"
    baked.parent.mkdir(parents=True)
    baked.write_text("the baked agent")
    baked.chmod(0o750)
    more = (
        "%install\ninstall -D -m 755 /dev/null %{buildroot}/usr/bin/aks-node-controller\n"
        "echo the fixed agent > %{buildroot}/usr/bin/aks-node-controller\n"
        "%files\n/usr/bin/aks-node-controller"
    )
    package = build_rpm(machine.scratch, "aks-node-controller", VERSION, more)
    RepositoryKey(machine.depot).sign_rpm(package)
    name = Path(shutil.copy(package, machine.depot.rpm)).name
    rpm_repository.write_index(machine.depot, [NAME, name], moment())

    found = machine.stage_foreign()

    assert found["said"] == f"{VERSION} installed with dnf"
    assert machine.installed("aks-node-controller") == [VERSION]
    staged = baked.with_name("aks-node-controller-hotfix")
    assert staged.read_text() == "the fixed agent\n"
    assert staged.stat().st_mode & 0o777 == 0o750
    assert baked.read_text() == "the baked agent"
