"""A fix by commands, from its keys to its withdrawal, at a control plane over real containers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from boot.node import missing_tools
from boot.node_image import node_image
from boot.roots import SUITES
from conformance.machine_seeds import RECORD
from e2e.running_plane import RunningPlane
from fairlead.agent.report.record import parse_record
from hotfix_depot import BASE

pytestmark = [pytest.mark.root, pytest.mark.slow]

VERSION = f"{BASE}.1"
DEADLINE_S = 120.0


def only_machine(plane: RunningPlane) -> str:
    (name,) = plane.machine_names()
    return name


def replaced(plane: RunningPlane) -> str:
    """Delete the machine of the pool; return the one that takes its place, once it is ready."""
    before = only_machine(plane)
    plane.run("machine", "delete", before, "--yes")
    plane.until(lambda: plane.machine_names() - {before}, DEADLINE_S)
    plane.until(lambda: len(plane.machine_names()) == 1, DEADLINE_S)
    plane.settled(deadline_s=DEADLINE_S)
    return only_machine(plane)


def fact_of(plane: RunningPlane, machine: str) -> dict[str, Any]:
    """What the record of a machine's last boot says of the fix, in the words of who provisioned."""
    record = plane.directory.machines / machine / "root" / RECORD
    runs = parse_record(record.read_bytes())
    *_, fact = [run.facts["hotfix"] for run in runs if "hotfix" in run.facts]
    return dict(fact)


@pytest.mark.parametrize("suite", SUITES)
def test_a_fix_reaches_the_next_boot_and_is_gone_after_its_withdrawal(
    suite: str, tmp_path: Path
) -> None:
    if missing := missing_tools("mmdebstrap", "gpg", "dpkg-deb"):
        pytest.skip(f"NOT RUN: {', '.join(missing)} missing")
    layers = [word for layer in node_image(suite) for word in ("--image", str(layer))]
    with RunningPlane(tmp_path / "state", "--machines", "nspawn", *layers) as plane:
        plane.settled(deadline_s=DEADLINE_S)
        plane.run("pool", "scale", "workers", "1", "--yes")
        plane.until(lambda: len(plane.machine_names()) == 1, DEADLINE_S)
        plane.run("keys", "init")
        plane.run("hotfix", "bases", "add", BASE)
        plane.run("hotfix", "region", "on", "local")
        built = plane.run("hotfix", "build", "--version", VERSION, "--to", str(tmp_path / "build"))
        plane.run("hotfix", "publish", *built.split())
        plane.run("hotfix", "promote", VERSION, "--everyone", "--yes")

        fixed = replaced(plane)

        assert fact_of(plane, fixed)["used"] == VERSION
        (row,) = json.loads(plane.run("hotfix", "status", "--json"))["fixes"]
        assert (row["have"], row["lack"]) == (1, 0)

        plane.run("hotfix", "withdraw", VERSION, "--reason", "it broke", "--yes")
        assert "used" not in fact_of(plane, replaced(plane))
