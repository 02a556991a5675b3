"""The launcher's rules, in their order: spec/node.md section 6."""

import json

import pytest

from builders import (
    AKS,
    CONFIG_PATH,
    FEATURES_PATH,
    NBC_PATH,
    POINTER_PATH,
    STAGED_PATH,
    STATUS_PATH,
    aks_files,
    exit_with,
    make_boot,
    make_disk,
    make_run,
    make_sim_host,
)
from fairlead import __version__
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.process import Finished
from fairlead.agent.report.record import parse_record
from fairlead.agent.stages.other_agent import PROVISION_DEADLINE_S
from fairlead.agent.stages.stage import find_inputs
from fairlead.contract.boot_report import BootReport
from fairlead.sim.host import SimHost
from shared_cases import REPOSITORY

BASE, _, PATCH = __version__.rpartition(".")
FIXED = f"{BASE}.{int(PATCH) + 1}"
HOTFIX_ON = {FEATURES_PATH: b"ENABLE_PROVISIONING_HOTFIX=true\n"}
POINTER = {POINTER_PATH: json.dumps({"hotfixes": {BASE: FIXED}}).encode()}
STAGED = {STAGED_PATH: b"#!/bin/sh\n"}
FOREIGN = f"{AKS}/other-agent"


def boot_sim(host: SimHost, *, foreign_agent: str = "") -> tuple[int, BootReport]:
    boot = make_boot(host)
    boot.foreign_agent = foreign_agent
    exit_code = run_boot(boot, BOOT_STAGES, __version__)
    return exit_code, parse_record(host.read_file(boot.run.layout.record))[-1]


def outcomes(report: BootReport) -> dict[str, str]:
    return {stage.name: stage.outcome for stage in report.stages}


def cause(report: BootReport, name: str) -> str:
    return next(stage.cause for stage in report.stages if stage.name == name)


def staged_agent(**answers: Finished):  # type: ignore[no-untyped-def]
    """A staged agent that works, except for the answers given."""
    whole = {
        "version": Finished(0, f"{FIXED}\n".encode()),
        "self-test": Finished(0, b"ok\n"),
        "provision": Finished(0, b""),
        **{name.replace("_", "-"): finished for name, finished in answers.items()},
    }

    def program(_host: SimHost, command: list[str], _environment: dict[str, str]) -> Finished:
        if command[1] == "provision" and "--dry-run" in command:
            return whole.get("dry-run", Finished(0, b""))
        return whole[command[1]]

    return program


def test_without_config_and_nbc_command_there_is_nothing_to_boot() -> None:
    host = make_sim_host(make_disk({f"{AKS}/other": b""}))

    assert find_inputs(make_run(host)) is None


def test_with_the_feature_off_no_hotfix_is_asked_for() -> None:
    for text in (b"", b"ENABLE_PROVISIONING_HOTFIX=True", b"ENABLE_PROVISIONING_HOTFIX=$(x)\n"):
        host = make_sim_host(make_disk({**aks_files(), FEATURES_PATH: text}))

        exit_code, report = boot_sim(host)

        assert exit_code == 0
        assert outcomes(report)["check-hotfix"] == "skipped"
        assert cause(report, "check-hotfix") == "the hotfix feature is off"


def test_a_hotfix_service_that_cannot_be_reached_never_stops_a_boot() -> None:
    host = make_sim_host(make_disk({**aks_files(), **HOTFIX_ON}))

    exit_code, report = boot_sim(host)

    assert exit_code == 0
    assert cause(report, "check-hotfix") == (
        "failed: no API server name in the node config or NBC command"
    )


def test_a_pointer_for_another_base_changes_nothing() -> None:
    pointer = {POINTER_PATH: b'{"hotfixes": {"202001.01": "202001.01.9"}}'}
    host = make_sim_host(make_disk({**aks_files(), **pointer}))

    exit_code, report = boot_sim(host)

    assert exit_code == 0
    assert report.facts["hotfix"] == {"baked": __version__}
    assert outcomes(report)["provision"] == "done"


def test_a_staged_agent_that_proves_itself_provisions_with_both_inputs() -> None:
    files = {**aks_files(), **POINTER, **STAGED, NBC_PATH: b"A=1 bash x"}
    host = make_sim_host(make_disk(files, executable=(STAGED_PATH,)))
    host.programs[STAGED_PATH] = staged_agent()

    exit_code, report = boot_sim(host)

    flags = [f"--provision-config={CONFIG_PATH}", f"--nbc-cmd={NBC_PATH}"]
    assert exit_code == 0
    assert host.started == [
        [STAGED_PATH, "version"],
        [STAGED_PATH, "self-test"],
        [STAGED_PATH, "provision", "--dry-run", *flags],
        [STAGED_PATH, "provision", *flags],
    ]
    assert cause(report, "choose-agent") == f"staged agent {FIXED}"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"version": Finished(0, b"202001.01.0\n")}, "says version '202001.01.0'"),
        ({"version": Finished(139, b"")}, "fails version with exit code 139"),
        ({"self_test": Finished(1, b"")}, "fails self-test with exit code 1"),
        ({"dry_run": Finished(1, b"")}, "fails provision with exit code 1"),
    ],
)
def test_a_staged_agent_that_fails_its_proof_is_not_used(
    answers: dict[str, Finished], expected: str
) -> None:
    disk = make_disk({**aks_files(), **POINTER, **STAGED}, executable=(STAGED_PATH,))
    host = make_sim_host(disk)
    host.programs[STAGED_PATH] = staged_agent(**answers)

    exit_code, report = boot_sim(host)

    assert exit_code == 0
    assert expected in cause(report, "choose-agent")
    assert host.started[-1][0] == "/bin/bash"


def test_a_staged_agent_that_hangs_is_killed_and_the_baked_one_provisions() -> None:
    disk = make_disk({**aks_files(), **POINTER, **STAGED}, executable=(STAGED_PATH,))
    host = make_sim_host(disk)

    def hang(sim: SimHost, _command: list[str], _environment: dict[str, str]) -> Finished:
        sim.sleep(3600)
        return Finished(0, b"")

    host.programs[STAGED_PATH] = hang

    exit_code, report = boot_sim(host)

    assert exit_code == 0
    assert cause(report, "choose-agent") == "staged agent hangs in version"
    assert host.started[-1][0] == "/bin/bash"


def test_a_staged_agent_that_dies_while_provisioning_is_followed_by_the_baked_one() -> None:
    disk = make_disk({**aks_files(), **POINTER, **STAGED}, executable=(STAGED_PATH,))
    host = make_sim_host(disk)
    host.programs[STAGED_PATH] = staged_agent(provision=Finished(139, b""))

    exit_code, report = boot_sim(host)

    assert exit_code == 0
    assert report.facts["fell_back"] == "staged agent died with exit code 139"
    assert host.started[-1][0] == "/bin/bash"
    assert json.loads(disk.read(STATUS_PATH).content)["ExitCode"] == "0"


def test_after_a_staged_agent_that_hangs_the_baked_one_has_ten_minutes_of_its_unit_left() -> None:
    unit = (REPOSITORY / "deploy/node/units/fairlead-node.service").read_text()

    assert "TimeoutStartSec=30min\n" in unit
    assert PROVISION_DEADLINE_S == 20 * 60


def test_a_staged_agent_that_gave_its_verdict_is_believed() -> None:
    disk = make_disk({**aks_files(), **POINTER, **STAGED}, executable=(STAGED_PATH,))
    host = make_sim_host(disk)

    def fail_with_status(sim: SimHost, command: list[str], environment: dict[str, str]) -> Finished:
        if command[1] == "provision" and "--dry-run" not in command:
            sim.make_directory("/var/log/azure/aks")
            sim.write_file(STATUS_PATH, b'{"ExitCode": "50"}', 0o600, sync=True)
            return Finished(50, b"")
        return staged_agent()(sim, command, environment)  # type: ignore[no-any-return]

    host.programs[STAGED_PATH] = fail_with_status

    assert boot_sim(host)[0] == 50
    assert disk.read(STATUS_PATH).content == b'{"ExitCode": "50"}'


def test_a_staged_agent_that_no_pointer_asks_for_is_left_alone() -> None:
    host = make_sim_host(make_disk({**aks_files(), **STAGED}, executable=(STAGED_PATH,)))
    host.programs[STAGED_PATH] = staged_agent()

    exit_code, report = boot_sim(host)

    assert exit_code == 0
    assert cause(report, "choose-agent").endswith("is there, but no pointer asks for it")


def test_a_staged_file_without_the_execute_bit_is_no_agent() -> None:
    host = make_sim_host(make_disk({**aks_files(), **POINTER, **STAGED}))

    assert cause(boot_sim(host)[1], "choose-agent") == "no staged agent"


def test_the_program_that_bin_path_names_asks_and_provisions_and_says_what_a_fix_must_fit() -> None:
    host = make_sim_host(make_disk({**aks_files(), **HOTFIX_ON, **POINTER}))
    host.programs[FOREIGN] = exit_with(0)

    exit_code, _ = boot_sim(host, foreign_agent=FOREIGN)

    assert exit_code == 0
    assert host.started == [
        [FOREIGN, "check-hotfix"],
        [FOREIGN, "version"],
        [FOREIGN, "provision", f"--provision-config={CONFIG_PATH}"],
    ]


def test_an_agent_too_old_for_hotfix_commands_still_provisions() -> None:
    host = make_sim_host(make_disk({**aks_files(), **HOTFIX_ON, **POINTER}))

    def old(_host: SimHost, command: list[str], _environment: dict[str, str]) -> Finished:
        return Finished(9 if command[1] == "provision" else 1, b"unknown command")

    host.programs[FOREIGN] = old

    exit_code, report = boot_sim(host, foreign_agent=FOREIGN)

    assert exit_code == 9, "the exit code is provision's"
    assert outcomes(report)["check-hotfix"] == "skipped"
    assert outcomes(report)["download-hotfix"] == "skipped"


def test_with_both_inputs_the_nbc_command_runs_and_differences_become_an_event() -> None:
    nbc = b'PROVISION_OUTPUT="/elsewhere" ONLY_HERE=1 /bin/bash x'
    disk = make_disk({**aks_files(), NBC_PATH: nbc})
    host = make_sim_host(disk)

    assert boot_sim(host)[0] == 0

    assert host.started[0] == ["/bin/bash", "--", NBC_PATH]
    events = [path for path in disk.names if "/events/" in path]
    compared = [
        text for path in events if "CompareEnvs" in (text := disk.read(path).content.decode())
    ]
    assert len(compared) == 1
    message = json.loads(compared[0])["Message"]
    assert "only-in-nbc: ONLY_HERE" in message
    assert "differs: PROVISION_OUTPUT" in message


def test_the_exit_code_of_the_bootstrap_command_is_the_agents() -> None:
    disk = make_disk(aks_files())
    host = make_sim_host(disk)
    host.programs["/bin/bash"] = exit_with(124, b"slow mirror\n")

    exit_code, report = boot_sim(host)

    status = json.loads(disk.read(STATUS_PATH).content)
    assert exit_code == 124
    assert (status["ExitCode"], status["Error"]) == ("124", "exit status 124")
    assert status["Output"] == "slow mirror\n"
    assert outcomes(report)["provision"] == "stopped"


def test_a_script_that_ends_with_the_code_of_a_boot_that_never_began_keeps_it() -> None:
    disk = make_disk(aks_files())
    host = make_sim_host(disk)
    host.programs["/bin/bash"] = exit_with(240, b"")

    exit_code, _ = boot_sim(host)

    assert exit_code == 240
    assert json.loads(disk.read(STATUS_PATH).content)["ExitCode"] == "240"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"custom_ca_certs": ["short", "x" * 140_000]},
            "custom_ca_certs: makes CUSTOM_CA_CERT_1 140018 bytes, a program takes 131072 at most",
        ),
        (
            {"kube_proxy_url": "y" * 131_072},
            "kube_proxy_url: makes KUBEPROXY_URL 131087 bytes, a program takes 131072 at most",
        ),
    ],
)
def test_a_value_that_no_environment_can_carry_stops_the_boot_by_its_field(
    config: dict[str, object], said: str
) -> None:
    disk = make_disk(aks_files({"version": "v1", **config}))

    assert boot_sim(make_sim_host(disk))[0] == 1

    status = json.loads(disk.read(STATUS_PATH).content)
    assert status["ExitCode"] == "240"
    assert status["Error"] == f"{said} (make it shorter)"


def test_a_field_that_must_be_understood_and_is_not_stops_the_boot_by_name() -> None:
    config = {"version": "v1", "mustUnderstand": ["security_profile.mode"]}
    disk = make_disk(aks_files(config))

    assert boot_sim(make_sim_host(disk))[0] == 1

    status = json.loads(disk.read(STATUS_PATH).content)
    assert status["ExitCode"] == "240"
    assert status["Error"].startswith("security_profile.mode: ")
