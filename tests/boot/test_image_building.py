"""An image built as the howto says: its units hold, and its agent works."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from boot.node import make_node, missing_tools
from boot.roots import SUITES, agent_layer, base_root
from shared_cases import REPOSITORY

pytestmark = [pytest.mark.root, pytest.mark.slow]

HOWTO = REPOSITORY / "docs/howto/bake-an-image.md"
ENABLED = {
    "sysinit.target.wants": {
        "fairlead-node.service",
        "fairlead-node.path",
        "fairlead-node-seed.service",
        "fairlead-node-seed.path",
    },
    "multi-user.target.wants": {"fairlead-node-check.service"},
}


@pytest.fixture(autouse=True)
def _tools() -> None:
    missing = missing_tools("dpkg-deb", "systemd-analyze")
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of what the howto's first command needs, so that it builds nowhere else."""
    for name in ("src/fairlead", "deploy/node"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=ignored)
    return tmp_path


def commands_of_the_howto() -> str:
    found = re.search(r"```sh\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    assert found is not None
    assert len(found[1].splitlines()) == 3, "the howto promises three commands"
    return found[1]


def bake(image: Path, sources: Path) -> str:
    """Run the howto's commands, without a network."""
    return subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "sh", "-ec", commands_of_the_howto()],
        cwd=sources,
        env={"PATH": os.environ["PATH"], "IMAGE": str(image)},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


@pytest.mark.parametrize("suite", SUITES)
def test_three_commands_bake_an_image(suite: str, sources: Path) -> None:
    with make_node(base_root(suite)) as node:
        told = bake(node.root, sources)

        assert "ok starts programs\n" in told
        for directory, units in ENABLED.items():
            wants = node.root / "etc/systemd/system" / directory
            assert units <= {entry.name for entry in wants.iterdir()}
        assert not list((node.root / "var/tmp").iterdir())
        # Compiled once, for the image's own Python, so that no first boot has to.
        packages = node.root / "usr/lib/fairlead/fairlead-node.d"
        assert list(packages.glob("cpython-*.bundle"))
        assert list((packages / "fairlead/agent/__pycache__").glob("main.cpython-*.pyc"))


@pytest.mark.parametrize("suite", SUITES)
def test_systemd_finds_nothing_wrong_with_the_units(suite: str) -> None:
    with make_node(agent_layer(suite), base_root(suite)) as node:
        units = [unit for names in ENABLED.values() for unit in sorted(names)]
        # The image's own systemd is the judge: this machine's may be older. It has no manual pages.
        judge = (
            f"mount -t proc proc proc; chroot . systemd-analyze verify --man=no {' '.join(units)}"
        )
        verified = subprocess.run(
            ["unshare", "--net", "--mount", "--pid", "--fork", "sh", "-ec", judge],
            cwd=node.root,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (verified.returncode, verified.stderr) == (0, "")


@pytest.mark.parametrize("suite", SUITES)
def test_a_removed_package_leaves_nothing_behind(suite: str) -> None:
    with make_node(agent_layer(suite), base_root(suite)) as node:
        (node.root / "opt/azure/containers").mkdir(parents=True)
        remove = "chroot . dpkg --purge fairlead-node"
        isolated = ["unshare", "--net", "--mount", "--pid", "--fork", "sh", "-ec", remove]
        subprocess.run(isolated, cwd=node.root, check=True, capture_output=True, timeout=120)

        left = [
            path
            for place in ("etc/systemd", "usr/lib/systemd/system", "usr/lib/fairlead", "usr/bin")
            for path in (node.root / place).rglob("*fairlead*")
        ]
        assert left == []
