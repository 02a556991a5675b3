"""The agent as a real process on a directory that stands for a machine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from shared_cases import REPOSITORY

SOURCE = REPOSITORY / "src"


# A built program, to run the same tests with what ships.
BUILT_AGENT = os.environ.get("FAIRLEAD_BUILT_AGENT", "")


def agent_command(*words: str) -> list[str]:
    if BUILT_AGENT:
        return [sys.executable, "-IS", BUILT_AGENT, *words]
    return [sys.executable, "-m", "fairlead.agent", *words]


def agent_environment(**variables: str) -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)
    return {"PYTHONPATH": str(SOURCE), "PATH": path, **variables}


def run_agent(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        agent_command(*words),
        env=agent_environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def make_aks_node(root: Path, config: dict[str, Any], script: str = "exit 0\n") -> Path:
    """An AKS image: its bootstrap script, its components and its node config."""
    containers = root / "opt/azure/containers"
    containers.mkdir(parents=True)
    (containers / "provision_start.sh").write_text(script)
    (root / "opt/azure/components.json").write_text("{}")
    config_file = containers / "aks-node-controller-config.json"
    config_file.write_text(json.dumps(config))
    config_file.chmod(0o600)
    return root


def make_plain_node(root: Path, config: dict[str, Any]) -> Path:
    """An image without scripts."""
    directory = root / "etc/fairlead"
    directory.mkdir(parents=True)
    (directory / "node-config.json").write_text(json.dumps(config))
    return root
