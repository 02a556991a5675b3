"""An agent that is told to end ends what it started, and leaves no verdict of its own."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import VALID_CONFIG
from process.agent_process import agent_command, agent_environment, make_aks_node

# Two processes: the script, and one that the script waits for. Both write down who they are.
SCRIPT = """\
{trap}
echo $$ >> {pids}
bash -c '{trap}
echo $$ >> {pids}
while :; do sleep 0.1; done' &
while :; do sleep 0.1; done
"""


def is_alive(process: int) -> bool:
    """A zombie that nobody collects in a container is dead, too."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: Callable[[], bool], deadline_s: float = 20.0) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("trap", ["", "trap '' TERM"], ids=["obedient", "deaf"])
def test_a_signal_to_the_agent_ends_the_script_and_what_it_started(
    tmp_path: Path, trap: str, number: signal.Signals
) -> None:
    pids = tmp_path / "pids"
    root = make_aks_node(tmp_path / "root", VALID_CONFIG)
    trap = trap.replace("''", '""')
    (root / "opt/azure/containers/provision_start.sh").write_text(
        SCRIPT.format(pids=pids, trap=trap)
    )
    agent = subprocess.Popen(
        agent_command("boot", "--root", str(root)),
        env=agent_environment(),
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    started = [int(line) for line in pids.read_text().split()]

    os.kill(agent.pid, number)

    assert agent.wait(20) == -number
    wait_for(lambda: not any(is_alive(process) for process in started), 5.0)
    assert not (root / "opt/azure/containers/provision.complete").exists()
    assert not (root / "var/log/azure/aks/provision.json").exists()


def test_the_run_after_one_that_was_told_to_end_provisions(tmp_path: Path) -> None:
    root = make_aks_node(tmp_path / "root", VALID_CONFIG)
    script = root / "opt/azure/containers/provision_start.sh"
    script.write_text(f"touch {tmp_path}/begun; sleep 600\n")
    command = agent_command("boot", "--root", str(root))
    agent = subprocess.Popen(command, env=agent_environment(), stderr=subprocess.DEVNULL)
    wait_for((tmp_path / "begun").exists)
    agent.terminate()
    assert agent.wait(20) == -signal.SIGTERM

    script.write_text("exit 0\n")
    second = subprocess.run(command, env=agent_environment(), capture_output=True, check=False)

    assert second.returncode == 0
    status = json.loads((root / "var/log/azure/aks/provision.json").read_text())
    assert status["ExitCode"] == "0"
