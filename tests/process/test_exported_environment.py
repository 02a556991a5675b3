"""What scripts and the program of BIN_PATH are started with, as real processes."""

import json
from pathlib import Path

import pytest

from builders import VALID_CONFIG
from process.agent_process import make_aks_node, run_agent

FEATURES = "opt/azure/containers/enabled_features.sh"


def test_a_script_sees_the_features_and_never_runs_them(tmp_path: Path) -> None:
    script = f'printf "%s|%s" "$A" "$B" > {tmp_path}/seen\n'
    root = make_aks_node(tmp_path / "node", VALID_CONFIG, script)
    hostile = f"$(touch {tmp_path}/ran)".encode()
    (root / FEATURES).write_bytes(b"A=" + hostile + b"\nB=x y\xff")

    found = run_agent("boot", "--root", str(root), A="of the unit")

    assert found.returncode == 0, found.stderr
    assert (tmp_path / "seen").read_bytes() == hostile + b"|x y\xff"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("features", "variable", "asked"),
    [
        (None, "true", True),
        (None, "1", False),
        (None, "", False),
        ("ENABLE_PROVISIONING_HOTFIX=true\n", "false", True),
        ("ENABLE_PROVISIONING_HOTFIX=false\n", "true", False),
    ],
)
def test_the_program_of_bin_path_gets_the_gate_that_opened(
    tmp_path: Path, features: str | None, variable: str, *, asked: bool
) -> None:
    root = make_aks_node(tmp_path, VALID_CONFIG)
    if features is not None:
        (root / FEATURES).write_text(features)
    program = tmp_path / "other-agent"
    program.write_text(f'#!/bin/sh\necho "$1 $ENABLE_PROVISIONING_HOTFIX" >> {tmp_path}/calls\n')
    program.chmod(0o755)

    found = run_agent(
        "boot", "--root", str(root), BIN_PATH="/other-agent", ENABLE_PROVISIONING_HOTFIX=variable
    )

    calls = (tmp_path / "calls").read_text().splitlines()
    assert found.returncode == 0, found.stderr
    value = variable if features is None else features.strip().partition("=")[2]
    expected = ["check-hotfix true"] if asked else []
    assert calls == [*expected, f"provision {value}"]


def test_a_fix_of_the_program_of_bin_path_is_found_by_its_own_version(tmp_path: Path) -> None:
    root = make_aks_node(tmp_path, VALID_CONFIG)
    for name, version in (("other-agent", "202604.01.0"), ("other-agent-hotfix", "202604.01.3")):
        program = tmp_path / name
        # Logs before it answers, as upstream's does; knows neither our flags nor self-test.
        program.write_text(
            f'#!/bin/sh\necho "{name} $1" >> {tmp_path}/calls\necho "msg=started 1.2" >&2\n'
            f'[ "$*" = version ] && echo {version} && exit\n'
            f'[ "$1" = provision ]\n'
        )
        program.chmod(0o755)
    pointer = {"hotfixes": {"202604.01": "202604.01.3"}}
    (root / "opt/azure/containers/aks-node-controller-hotfix.json").write_text(json.dumps(pointer))

    found = run_agent("boot", "--root", str(root), BIN_PATH="/other-agent")

    assert found.returncode == 0, found.stderr
    # Its fix is ours to download, and was staged before this boot.
    assert (tmp_path / "calls").read_text().splitlines() == [
        "other-agent version",
        "other-agent-hotfix version",
        "other-agent-hotfix provision",
    ]
