"""`fairlead up` with a depot: new machines can take fixes, and their boots are counted."""

from __future__ import annotations

import json
import shutil
import ssl
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane
from fairlead import __version__
from fairlead.hotfix.service.fleet import Fleet
from hotfix_depot import SUITE, needs
from served_hotfixes import make_depot, make_fix
from shared_cases import REPOSITORY

IGNORED = shutil.ignore_patterns("__pycache__")


def fetched(plane: RunningPlane, path: str) -> tuple[int, bytes]:
    port = plane.directory.port.read_text().strip()
    authority = (plane.directory.certificates / "authority.pem").read_text()
    tls = ssl.create_default_context(cadata=authority)
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{port}{path}", context=tls) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_machines_of_a_control_plane_with_a_depot_can_take_fixes(tmp_path: Path) -> None:
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled()
        assert fetched(plane, "/depot/metadata/root.json")[0] == 404
        before = list(plane.directory.machines.iterdir())
        assert not any((path / "root/etc/fairlead/hotfix").exists() for path in before)

        depot = make_depot(plane.directory.hotfix, [make_fix(everyone=True)], datetime.now(UTC))
        anchor = depot.read_signed().roots[-1]
        plane.until(lambda: fetched(plane, "/depot/metadata/root.json") == (200, anchor))
        plane.run("pool", "scale", "workers", "4", "--yes")
        plane.until(lambda: Fleet(depot.directory).reach_of([make_fix()])[0].lack == 1)

        (made,) = [path for path in plane.directory.machines.iterdir() if path not in before]
        root = made / "root/etc/fairlead"
        assert (root / "hotfix/root.json").read_bytes() == anchor
        assert (root / "features.env").read_text() == "ENABLE_PROVISIONING_HOTFIX=true\n"
        assert fetched(plane, "/v1/hotfix?component=fairlead-node")[0] == 401
        assert fetched(plane, "/depot/keys/online.pem")[0] == 404


def publish_to_everyone(plane: RunningPlane, directory: Path, version: str, *words: str) -> None:
    plane.run("hotfix", "build", "--version", version, "--to", str(directory), *words)
    packages = [str(path) for path in directory.glob(f"*{version}*")]
    plane.run("hotfix", "publish", *packages)
    plane.run("hotfix", "promote", version, "--everyone", "--yes")


def broken_tree(directory: Path) -> Path:
    """The sources of an agent that starts, and fails its own test."""
    for name in ("src", "deploy"):
        shutil.copytree(REPOSITORY / name, directory / name, ignore=IGNORED)
    with (directory / "src/fairlead/agent/self_test.py").open("a") as file:
        file.write("\n\ndef prove_agent(run):\n    raise OSError('broken on purpose')\n")
    return directory


def made_by_scaling(plane: RunningPlane, replicas: int) -> str:
    """Let one more machine boot; return what is explained of it."""
    before = set(plane.run("machine", "list", "-o", "name").split())
    plane.run("pool", "scale", "workers", str(replicas), "--yes")
    plane.settled()
    (made,) = set(plane.run("machine", "list", "-o", "name").split()) - before
    return " ".join(plane.run("explain", made).split())


@pytest.mark.slow
def test_a_fix_reaches_the_next_machine_and_a_broken_one_stops_no_boot(tmp_path: Path) -> None:
    needs(*SUITE)
    base = __version__.rpartition(".")[0]
    good, broken = f"{base}.9001", f"{base}.9002"
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled()
        plane.run("keys", "init")
        plane.run("hotfix", "region", "on", "local")
        publish_to_everyone(plane, tmp_path / "good", good)
        explained = made_by_scaling(plane, 4)
        assert f"It booted with the fix {good}, in the place of {__version__}." in explained
        found = json.loads(plane.run("hotfix", "status", good, "--json"))
        assert (found["have"], found["lack"]) == (1, 0)
        assert found["having"] == [explained.split()[0]]

        tree = broken_tree(tmp_path / "tree")
        publish_to_everyone(plane, tmp_path / "broken", broken, "--tree", str(tree))
        explained = made_by_scaling(plane, 5)
        told = f"and not with the fix {broken}: staged agent fails self-test with exit code 1."
        assert told in explained
        found = json.loads(plane.run("hotfix", "status", broken, "--json"))
        assert found["regions"][0]["with"] == {"good": 0, "failed": 1}

        plane.run("hotfix", "withdraw", broken, "--reason", "it fails its test", "--yes")
        assert f"It booted with the fix {good}" in made_by_scaling(plane, 6)
