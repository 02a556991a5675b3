"""However many agents start on one machine, each document has one run."""

import json
import subprocess
from pathlib import Path

from builders import VALID_CONFIG
from process.agent_process import agent_command, agent_environment, run_agent

PATHS = (
    *("node-config", "status", "sentinel", "log", "record", "events", "state", "features"),
    *("pointer", "nbc-command", "boot-document", "bootstrap-script", "components", "baked-agent"),
)


def machine(tmp_path: Path) -> list[str]:
    """This very machine, which has state, with every path of the agent in a directory."""
    (tmp_path / "node-config").write_text(json.dumps(VALID_CONFIG))
    return ["--layout", "aks", *(f"--{name}={tmp_path}/{name}" for name in PATHS)]


def make_nbc_command(tmp_path: Path, text: str) -> None:
    (tmp_path / "nbc-command").write_text(text)


def test_agents_that_start_together_do_one_run(tmp_path: Path) -> None:
    flags = machine(tmp_path)
    make_nbc_command(tmp_path, f"sleep 0.3; echo run >> {tmp_path}/runs")

    agents = [
        subprocess.Popen(agent_command("boot", *flags), env=agent_environment(), stderr=-3)
        for _ in range(3)
    ]
    codes = [agent.wait(60) for agent in agents]

    assert codes == [0, 0, 0]
    assert (tmp_path / "runs").read_text() == "run\n"


def test_a_failed_run_is_not_repeated_unless_somebody_asks(tmp_path: Path) -> None:
    flags = machine(tmp_path)
    make_nbc_command(tmp_path, f"echo run >> {tmp_path}/runs; exit 7")

    first = run_agent("boot", *flags)
    second = run_agent("boot", *flags)
    runs = (tmp_path / "runs").read_text()
    third = run_agent("boot", "--again", *flags)

    assert (first.returncode, second.returncode, third.returncode) == (7, 7, 7)
    assert runs == "run\n"
    assert "this document had its run" in second.stderr
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_run_that_was_killed_is_tried_again(tmp_path: Path) -> None:
    flags = machine(tmp_path)
    make_nbc_command(
        tmp_path,
        f"echo run >> {tmp_path}/runs; [ -e {tmp_path}/killed ] || "
        f"{{ touch {tmp_path}/killed; kill -9 $PPID; }}",
    )

    first = run_agent("boot", *flags)
    second = run_agent("boot", *flags)

    assert (first.returncode, second.returncode) == (-9, 0)
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_another_document_has_a_run_of_its_own(tmp_path: Path) -> None:
    flags = machine(tmp_path)
    make_nbc_command(tmp_path, f"echo run >> {tmp_path}/runs")
    run_agent("boot", *flags)
    (tmp_path / "node-config").write_text('{"version": "v1"}')

    run_agent("boot", *flags)

    assert (tmp_path / "runs").read_text() == "run\nrun\n"
