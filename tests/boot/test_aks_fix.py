"""
A fix of AKS's own agent: from the image's own package source by real apt, copied beside the baked
one, proven by its version. In roots, and in nodes that boot.

Not real: the agent, which is a script that knows the same words (see aks_agents.py).
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from boot.aks_agents import (
    BAKED,
    BASE,
    BROKEN,
    DEB822,
    FIXED,
    MARKED,
    PROGRAM,
    PROVISIONED_BY,
    SOURCES,
    STAGED,
    agent,
    make_image,
    make_package,
    processes_of,
    sign_source,
    stat_of,
)
from boot.boot_case import BootCase, BootResult, booted
from boot.node import make_node, missing_tools
from boot.roots import SUITES, base_root
from boot.test_apt_fix import run
from fairlead.contract.boot_report import BootReport
from shared_cases import REPOSITORY

pytestmark = [pytest.mark.root, pytest.mark.slow]

UNIT = "etc/systemd/system/fairlead-node.service.d/aks.conf"
LIMIT_S = 20


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    if missing := missing_tools("mmdebstrap", "apt-ftparchive", "gpg", "dpkg-deb"):
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")


class Machine:
    """A root of an AKS image, entered without a network."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        self.repository = root / "srv/repository"
        self.repository.mkdir(parents=True)
        make_image(root)
        ignored = shutil.ignore_patterns("*.pyc")
        shutil.copytree(REPOSITORY / "src", root / "srv/src", ignore=ignored)
        shutil.copy(Path(__file__).with_name("staged_in_root.py"), root / "srv")

    def enter(self, *words: str) -> str:
        return run("unshare", "--net", "--mount", "chroot", self.root, *words)

    def stage(self) -> dict[str, Any]:
        sign_source(self.root, self.home)
        words = ("/usr/bin/python3", "/srv/staged_in_root.py", FIXED, "foreign", f"/{PROGRAM}")
        found: dict[str, Any] = json.loads(self.enter(*words, str(LIMIT_S)).splitlines()[-1])
        return found

    def installed(self) -> list[str]:
        return self.enter("dpkg-query", "--show", "aks-node-controller").split()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with make_node(base_root("bookworm")) as node:
        yield Machine(node.root, tmp_path / "gpg")


def one_line(_machine: Machine) -> None:
    """As the image has it."""


def deb822(machine: Machine) -> None:
    (machine.root / SOURCES / "microsoft-prod.list").unlink()
    (machine.root / SOURCES / "microsoft-prod.sources").write_text(DEB822)


def both(machine: Machine) -> None:
    """The older form counts where both are."""
    text = DEB822.replace("copy:/srv/repository", "copy:/srv/nowhere")
    (machine.root / SOURCES / "microsoft-prod.sources").write_text(text)


@pytest.mark.parametrize("source", [one_line, deb822, both])
def test_the_exact_version_comes_from_that_one_source_and_is_copied_beside_the_baked_one(
    machine: Machine, source: Callable[[Machine], None]
) -> None:
    source(machine)
    make_package(machine.repository, agent(FIXED))
    for other in (f"{BASE}.30-ubuntu22.04u1", f"{BASE}.2-ubuntu22.04u1"):
        make_package(machine.repository, agent(other), other)
    before = stat_of(machine.root / PROGRAM)

    found = machine.stage()

    assert found["said"] == f"{FIXED} installed with apt-get"
    assert machine.installed() == ["aks-node-controller", MARKED]
    staged = machine.root / STAGED
    assert staged.read_bytes() == agent(FIXED)
    assert staged.stat().st_mode & 0o7777 == 0o750
    assert stat_of(machine.root / PROGRAM) == before
    names = sorted(path.name for path in staged.parent.iterdir())
    assert names == ["aks-node-controller", "aks-node-controller-hotfix"]
    assert machine.stage()["said"] == f"{FIXED} was installed already"


def test_the_newest_package_of_the_version_is_taken_and_one_without_a_mark_will_do(
    machine: Machine,
) -> None:
    newer = MARKED.replace("u1", "u2")
    for spelling in (FIXED, MARKED, newer):
        make_package(machine.repository, agent(FIXED), spelling)

    assert machine.stage()["said"] == f"{FIXED} installed with apt-get"
    assert machine.installed() == ["aks-node-controller", newer]


def test_an_interrupted_dpkg_is_finished_before_anything_else(machine: Machine) -> None:
    package = make_package(machine.repository, agent(FIXED))
    machine.enter("dpkg", "--unpack", f"/srv/repository/pool/{package.name}")

    found = machine.stage()

    assert found["said"] == f"{FIXED} installed with apt-get"
    assert found["doing"][0].endswith("(dpkg --configure -a)")
    assert machine.enter("dpkg", "--audit") == ""


def no_source(machine: Machine) -> None:
    make_package(machine.repository, agent(FIXED))
    (machine.root / SOURCES / "microsoft-prod.list").unlink()


def no_such_version(machine: Machine) -> None:
    make_package(machine.repository, agent(FIXED), f"{BASE}.30-ubuntu22.04u1")


def no_program(machine: Machine) -> None:
    make_package(machine.repository, agent(FIXED), path="usr/bin/another")


def replaces_the_baked_one(machine: Machine) -> None:
    make_package(machine.repository, agent(FIXED), path=PROGRAM)


LIST = f"/{SOURCES}/microsoft-prod.list"
REFUSED: dict[Callable[[Machine], None], str] = {
    no_source: f"no package source for fixes: expected {LIST} or /{SOURCES}/microsoft-prod.sources",
    no_such_version: f"{LIST} has no aks-node-controller {FIXED}",
    no_program: "the package aks-node-controller holds 0 programs of that name",
    replaces_the_baked_one: f"the package would replace /{PROGRAM}, a file of the baked agent",
}


@pytest.mark.parametrize("hurt", REFUSED, ids=lambda hurt: getattr(hurt, "__name__", ""))
def test_what_cannot_be_installed_is_said_and_nothing_is_staged(
    machine: Machine, hurt: Callable[[Machine], None]
) -> None:
    hurt(machine)
    before = stat_of(machine.root / PROGRAM)

    assert REFUSED[hurt] in machine.stage()["said"]
    assert not (machine.root / STAGED).exists()
    assert stat_of(machine.root / PROGRAM) == before


def test_a_source_that_another_key_signed_is_refused(machine: Machine, tmp_path: Path) -> None:
    make_package(machine.repository, agent(FIXED))
    sign_source(machine.root, tmp_path / "another-gpg")
    kept = (machine.root / "usr/share/keyrings/microsoft-prod.gpg").read_bytes()
    sign_source(machine.root, machine.home)
    (machine.root / "usr/share/keyrings/microsoft-prod.gpg").write_bytes(kept)
    words = ("/usr/bin/python3", "/srv/staged_in_root.py", FIXED, "foreign", f"/{PROGRAM}", "20")

    said = json.loads(machine.enter(*words).splitlines()[-1])["said"]

    assert "NO_PUBKEY" in said or "not signed" in said
    assert not (machine.root / STAGED).exists()


def image_with(folder: Path, program: bytes) -> BootCase:
    """An AKS image whose baked agent learns of this fix when it asks."""
    root = folder / "given/root"
    (root / "srv/repository").mkdir(parents=True)
    make_image(root)
    make_package(root / "srv/repository", program)
    sign_source(root, folder / "gpg")
    config = root / f"{PROGRAM}-config.json"
    config.write_text(json.dumps({"version": "v1", "kubernetes_version": "1.34.0"}))
    (root / "opt/azure/containers/enabled_features.sh").write_text(
        "ENABLE_PROVISIONING_HOTFIX=true\n"
    )
    (root / UNIT).parent.mkdir(parents=True)
    (root / UNIT).write_text(f"[Service]\nEnvironment=BIN_PATH=/{PROGRAM}\n")
    return BootCase(name="aks-fix", folder=folder, seed="none")


def provisioned(result: BootResult, by: str) -> BootReport:
    """The report of a node that this version provisioned, once, and where nothing is left."""
    (report,) = result.records
    assert report.exit_code == 0
    assert result.node.read(PROVISIONED_BY) == f"{by}\n"
    left = [
        words
        for words in processes_of(result.node.name)
        if "sleep 98765" in words or "apt" in words or STAGED in words
    ]
    assert left == []
    baked = result.node.root / PROGRAM
    assert baked.read_bytes() == agent(BAKED)
    return report


@pytest.mark.parametrize("suite", SUITES)
def test_a_booting_node_takes_the_fix_of_its_agent(tmp_path: Path, suite: str) -> None:
    with booted(image_with(tmp_path, agent(FIXED)), suite) as result:
        report = provisioned(result, FIXED)
        staged = result.node.root / STAGED
        listed = result.node.enter("dpkg-query", "--show", "aks-node-controller").stdout

        assert report.facts["hotfix"] == {"baked": BAKED, "wanted": FIXED, "used": FIXED}
        assert staged.read_bytes() == agent(FIXED)
        assert staged.stat().st_mode & 0o7777 == 0o750
        assert listed.split() == ["aks-node-controller", MARKED]


# Each way once, and each distribution with half of them.
@pytest.mark.parametrize(
    ("how", "suite"), [(how, SUITES[at % len(SUITES)]) for at, how in enumerate(BROKEN)]
)
def test_a_booting_node_is_provisioned_by_the_baked_agent_where_the_fix_is_broken(
    tmp_path: Path, how: str, suite: str
) -> None:
    program, cause = BROKEN[how]

    with booted(image_with(tmp_path, program), suite) as result:
        fact = provisioned(result, BAKED).facts["hotfix"]

        assert fact["wanted"] == FIXED
        assert "used" not in fact
        assert fact["cause"].startswith(cause)
