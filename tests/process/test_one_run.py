"""However many agents start on one machine, each document has one run."""

import json
import subprocess
from pathlib import Path

import pytest

from builders import VALID_CONFIG
from process.agent_process import agent_command, agent_environment, run_agent

PATHS = (
    *("node-config", "status", "sentinel", "log", "record", "events", "state", "features"),
    *("pointer", "nbc-command", "boot-document", "bootstrap-script", "components", "baked-agent"),
)


TOGETHER = [
    ("boot", "boot", "boot"),
    ("boot", "provision", "boot"),
    ("provision", "boot", "boot"),
    ("provision", "provision", "provision"),
]


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


def provision_words(tmp_path: Path) -> list[str]:
    """How the AKS launcher calls `provision`, with both inputs there."""
    config, command = f"{tmp_path}/node-config", f"{tmp_path}/nbc-command"
    return ["provision", f"--provision-config={config}", f"--nbc-cmd={command}"]


@pytest.mark.parametrize("words", TOGETHER)
def test_commands_that_start_together_do_one_run_and_end_alike(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    flags = machine(tmp_path)
    make_nbc_command(
        tmp_path, f"echo begin >> {tmp_path}/runs; sleep 0.3; echo end >> {tmp_path}/runs; exit 9"
    )
    calls = {"boot": ["boot"], "provision": provision_words(tmp_path)}

    agents = [
        subprocess.Popen(
            agent_command(*calls[word], *flags), env=agent_environment(), stderr=subprocess.DEVNULL
        )
        for word in words
    ]
    codes = [agent.wait(60) for agent in agents]

    assert codes == [9, 9, 9]
    assert (tmp_path / "runs").read_text() == "begin\nend\n"
    status = json.loads((tmp_path / "status").read_text())
    assert status["ExitCode"] == "9"


@pytest.mark.parametrize(("first", "second"), [("boot", "provision"), ("provision", "boot")])
def test_the_later_command_ends_as_the_first_one_did(
    tmp_path: Path, first: str, second: str
) -> None:
    flags = machine(tmp_path)
    make_nbc_command(tmp_path, f"echo run >> {tmp_path}/runs; exit 7")
    calls = {"boot": ["boot"], "provision": provision_words(tmp_path)}

    codes = [run_agent(*calls[word], *flags).returncode for word in (first, second)]
    runs = (tmp_path / "runs").read_text()
    again = run_agent(*calls[second], "--again", *flags)

    assert codes == [7, 7]
    assert runs == "run\n"
    assert again.returncode == 7
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_an_nbc_command_that_is_written_after_its_config_is_no_second_document(
    tmp_path: Path,
) -> None:
    flags = machine(tmp_path)
    (tmp_path / "node-config").write_text('{"version": "v9"}')
    first = run_agent("boot", *flags)
    make_nbc_command(tmp_path, f"echo run >> {tmp_path}/runs")

    second = run_agent(*provision_words(tmp_path), *flags)

    assert (first.returncode, second.returncode) == (1, 1), first.stderr
    assert "this document had its run" in second.stderr
    assert not (tmp_path / "runs").exists()


def test_an_agent_that_provisions_for_a_boot_does_not_wait_for_its_turn(tmp_path: Path) -> None:
    flags = machine(tmp_path)
    make_nbc_command(tmp_path, f'echo "run:${{FAIRLEAD_TURN-}}" >> {tmp_path}/runs; exit 5')
    other = tmp_path / "other-agent"
    call = " ".join(agent_command())
    other.write_text(f'#!/bin/sh\n{call} "$@" {" ".join(flags[2:])}\nexit $?\n')
    other.chmod(0o755)

    booted = run_agent("boot", *flags, BIN_PATH=str(other))

    assert booted.returncode == 5, booted.stderr
    assert (tmp_path / "runs").read_text() == "run:\n"
    assert run_agent(*provision_words(tmp_path), *flags).returncode == 5
    assert (tmp_path / "runs").read_text() == "run:\n"


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
