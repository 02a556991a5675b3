"""The program that BIN_PATH names: its own version decides which fix is meant for it."""

import json

import pytest

from builders import (
    AKS,
    CONFIG_PATH,
    POINTER_PATH,
    STAGED_PATH,
    aks_files,
    make_boot,
    make_disk,
    make_sim_host,
)
from fairlead import __version__
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.process import Finished
from fairlead.agent.report.record import parse_record
from fairlead.contract.boot_report import BootReport
from fairlead.sim.host import SimHost

FOREIGN = f"{AKS}/other-agent"
PROVISION = ["provision", f"--provision-config={CONFIG_PATH}"]
# For the foreign agent's base, and for ours.
POINTER = {
    "202604.01": "202604.01.3",
    __version__.rpartition(".")[0]: f"{__version__.rpartition('.')[0]}.9999",
}


def says(version: bytes | Finished):  # type: ignore[no-untyped-def]
    """A foreign agent: it answers `version`, provisions, and knows nothing of ours."""
    answer = version if isinstance(version, Finished) else Finished(0, version)
    known = {"version": answer, "provision": Finished(0, b""), "download-hotfix": Finished(0, b"")}

    def program(_host: SimHost, command: list[str], _environment: dict[str, str]) -> Finished:
        if len(command) > 1 and command[1] == "version" and len(command) != 2:
            return Finished(1, b"flag provided but not defined")
        return known.get(command[1], Finished(1, b"unknown command"))

    return program


def foreign_host(pointer: dict[str, str], more: dict[str, bytes] | None = None) -> SimHost:
    files = {
        **aks_files(),
        POINTER_PATH: json.dumps({"hotfixes": pointer}).encode(),
        STAGED_PATH: b"",
        **(more or {}),
    }
    return make_sim_host(make_disk(files, executable=(STAGED_PATH,)))


def boot_with_foreign_agent(host: SimHost) -> tuple[int, BootReport]:
    boot = make_boot(host)
    boot.foreign_agent = FOREIGN
    boot.program_flags = ["--layout=aks"]
    exit_code = run_boot(boot, BOOT_STAGES, __version__)
    return exit_code, parse_record(host.read_file(boot.run.layout.record))[-1]


def choice(report: BootReport) -> tuple[str, str]:
    return next((one.outcome, one.cause) for one in report.stages if one.name == "choose-agent")


def provisioner(host: SimHost) -> list[str]:
    return host.started[-1][:3]


def test_with_a_root_of_trust_no_fix_of_a_foreign_agent_is_taken() -> None:
    host = foreign_host(POINTER, {"/etc/fairlead/hotfix/root.json": b"{}"})
    host.programs[FOREIGN] = says(b"202604.01.0\n")
    host.programs[STAGED_PATH] = says(b"202604.01.3\n")

    exit_code, report = boot_with_foreign_agent(host)

    assert exit_code == 0
    outcome, cause = choice(report)
    assert outcome == "skipped"
    assert cause.startswith("202604.01.3 is wanted, but no signed metadata allows it")
    assert provisioner(host) == [FOREIGN, *PROVISION]


def test_a_fix_for_the_foreign_agents_base_takes_over_after_saying_its_version() -> None:
    host = foreign_host(POINTER)
    host.programs[FOREIGN] = says(b"202604.01.0\n")
    host.programs[STAGED_PATH] = says(b"202604.01.3\n")

    exit_code, report = boot_with_foreign_agent(host)

    assert exit_code == 0
    assert choice(report) == ("done", "staged agent 202604.01.3")
    assert report.facts["hotfix"] == {
        "baked": "202604.01.0",
        "wanted": "202604.01.3",
        "used": "202604.01.3",
    }
    assert [FOREIGN, "version"] in host.started
    assert [STAGED_PATH, "version"] in host.started
    assert [STAGED_PATH, "self-test"] not in host.started
    assert provisioner(host) == [STAGED_PATH, *PROVISION]


@pytest.mark.parametrize("base", ["202605.30", "202604.1"])
def test_a_fix_for_our_own_base_is_nothing_to_a_foreign_agent(base: str) -> None:
    host = foreign_host(POINTER)
    host.programs[FOREIGN] = says(f"{base}.0\n".encode())
    host.programs[STAGED_PATH] = says(b"202604.01.3\n")

    exit_code, report = boot_with_foreign_agent(host)

    assert exit_code == 0
    assert choice(report) == ("skipped", f"{STAGED_PATH} is there, but no pointer asks for it")
    assert provisioner(host) == [FOREIGN, *PROVISION]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"dev\n",
        b"\xff\xfe\x00\x1b[2J",
        b"x" * 100_000,
        b"202604.01\n",
        b"202604.01.0 202604.01.3\n",
        b"202604.01.0\n202604.01.1\n",
        b"unknown command: version\n",
        Finished(1, b"202604.01.0\n"),
        Finished(137, b"202604.01.0\n", is_timeout=True),
    ],
)
def test_a_foreign_agent_that_tells_no_version_goes_on_without_a_fix(
    answer: bytes | Finished,
) -> None:
    host = foreign_host(POINTER)
    host.programs[FOREIGN] = says(answer)
    host.programs[STAGED_PATH] = says(b"202604.01.3\n")

    exit_code, report = boot_with_foreign_agent(host)

    assert exit_code == 0
    assert choice(report) == (
        "skipped",
        f"{STAGED_PATH} is there, but {FOREIGN} does not say which version it would replace",
    )
    assert provisioner(host) == [FOREIGN, *PROVISION]


def test_a_version_is_found_between_the_lines_of_a_log() -> None:
    host = foreign_host(POINTER)
    host.programs[FOREIGN] = says(b'time=2026 msg="started"\n 202604.01.0 \r\nmsg=1.2.x\n')
    host.programs[STAGED_PATH] = says(b"msg=started\n202604.01.3\n")

    assert choice(boot_with_foreign_agent(host)[1]) == ("done", "staged agent 202604.01.3")


def test_a_foreign_agent_that_hangs_in_version_is_given_two_seconds() -> None:
    host = foreign_host(POINTER)
    began: list[int] = []

    def hang(sim: SimHost, command: list[str], _environment: dict[str, str]) -> Finished:
        if command[1] == "version":
            began.append(sim.monotonic_ns())
            sim.sleep(2.1)
        return Finished(0, b"202604.01.0\n")

    host.programs[FOREIGN] = hang
    host.programs[STAGED_PATH] = says(b"202604.01.3\n")

    assert choice(boot_with_foreign_agent(host)[1])[0] == "skipped"
    assert len(began) == 1
    assert provisioner(host) == [FOREIGN, *PROVISION]


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (b"202604.01.2\n", "staged agent says version '202604.01.2', expected '202604.01.3'"),
        (Finished(127, b""), "staged agent fails version with exit code 127"),
    ],
)
def test_a_foreign_fix_that_is_not_what_the_pointer_names_is_left_alone(
    answer: bytes | Finished, cause: str
) -> None:
    host = foreign_host(POINTER)
    host.programs[FOREIGN] = says(b"202604.01.0\n")
    host.programs[STAGED_PATH] = says(answer)

    exit_code, report = boot_with_foreign_agent(host)

    assert exit_code == 0
    assert choice(report) == ("skipped", cause)
    assert provisioner(host) == [FOREIGN, *PROVISION]
