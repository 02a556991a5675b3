"""A pipe, a device or a huge file where one of ours belongs hangs nothing and fills no memory."""

import json
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import VALID_CONFIG
from process.agent_process import agent_command, agent_environment

PATHS = (
    *("node-config", "status", "sentinel", "log", "record", "events", "state", "features"),
    *("pointer", "nbc-command", "boot-document", "bootstrap-script", "components", "baked-agent"),
)

# Names below the machine's directory that others may have taken.
TAKEN = (
    *("features", "components", "status", "sentinel", "boot-document", "record", "log", "pointer"),
    *("state/verdict.json", "state/document.json", "state/boot.lock"),
)

# A plain file may be a script's own status, or this machine's document: exit codes of both.
UNUSABLE = {("status", "a_huge_file"): (0, 1), ("boot-document", "a_huge_file"): (1, 1)}


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_huge_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


def run_limited(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the agent with little memory and little patience."""
    return subprocess.run(
        agent_command(*words),
        env=agent_environment(),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20)),  # noqa: PLW1509
    )


@pytest.mark.parametrize("thing", [a_pipe, a_device, a_huge_file], ids=lambda thing: thing.__name__)
@pytest.mark.parametrize("name", TAKEN)
def test_a_boot_ends_and_its_waiter_hears_of_it(
    tmp_path: Path, name: str, thing: Callable[[Path], None]
) -> None:
    flags = ["--layout", "aks", *(f"--{path}={tmp_path}/{path}" for path in PATHS)]
    (tmp_path / "node-config").write_text(json.dumps(VALID_CONFIG))
    (tmp_path / "nbc-command").write_text("exit 0\n")
    (tmp_path / "state").mkdir()
    thing(tmp_path / name)

    booted = run_limited("boot", *flags)
    waited = run_limited("provision-wait", "--timeout=5", *flags)

    told = booted.stderr + waited.stderr
    assert "defect" not in told, told
    codes = (booted.returncode, waited.returncode)
    assert codes == UNUSABLE.get((name, thing.__name__), (0, 0)), told
    if codes == (0, 0):
        assert json.loads(waited.stdout)["ExitCode"] == "0"
    else:
        assert "Larger than 16 MiB" in waited.stderr


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    flags = ["--layout", "aks", *(f"--{path}={tmp_path}/{path}" for path in PATHS)]
    (tmp_path / "node-config").write_text(json.dumps(VALID_CONFIG))
    (tmp_path / "nbc-command").write_text("exit 0\n")
    (tmp_path / "state").mkdir()
    target = tmp_path / "somebody-elses"
    (tmp_path / "state/boot.lock").symlink_to(target)

    booted = run_limited("boot", *flags)

    assert booted.returncode == 0, booted.stderr
    assert not target.exists()
    assert "no lock" not in booted.stderr
    assert not (tmp_path / "state/boot.lock").is_symlink()
