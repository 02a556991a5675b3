"""Features of the file reach every program that a boot starts, and may open the hotfix gate."""

import pytest

from builders import (
    AKS,
    FEATURES_PATH,
    NBC_PATH,
    POINTER_PATH,
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
from fairlead.sim.host import SimHost

GATE = "ENABLE_PROVISIONING_HOTFIX"
FOREIGN = f"{AKS}/other-agent"
FEATURES = {FEATURES_PATH: b"A=1\nB=$(reboot)\nPATH_OF=x y\n"}


class Seen:
    """A program that keeps the environment of every command it is asked for."""

    def __init__(self) -> None:
        self.environments: dict[str, dict[str, str]] = {}

    def __call__(self, _host: SimHost, command: list[str], environment: dict[str, str]) -> Finished:
        self.environments[command[1]] = environment
        return Finished(0, b"")


def is_asked(file: bytes | None, variable: str | None) -> bool:
    """Say whether a boot asks the hotfix service, with this file and this variable."""
    host = make_sim_host(make_disk(aks_files() if file is None else {**aks_files(), **at(file)}))
    if variable is not None:
        host.environment[GATE] = variable
    boot = make_boot(host)
    assert run_boot(boot, BOOT_STAGES, __version__) == 0
    stages = parse_record(host.read_file(boot.run.layout.record))[-1].stages
    cause = next(stage.cause for stage in stages if stage.name == "check-hotfix")
    return cause != "the hotfix feature is off"


def at(text: bytes) -> dict[str, bytes]:
    return {FEATURES_PATH: text}


@pytest.mark.parametrize(
    ("variable", "opens"),
    [("true", True), (None, False), ("", False), ("1", False), ("True", False), (" true", False)],
)
def test_only_the_literal_true_in_the_environment_opens_the_gate(
    variable: str | None, *, opens: bool
) -> None:
    assert is_asked(None, variable) is opens
    assert is_asked(b"OTHER=1\n", variable) is opens


def test_what_the_file_says_hides_the_variable() -> None:
    assert is_asked(f"{GATE}=true\n".encode(), "false")
    assert not is_asked(f"{GATE}=false\n".encode(), "true")


def test_scripts_are_started_with_the_features() -> None:
    host = make_sim_host(make_disk({**aks_files(), **FEATURES}))
    host.environment["A"] = "of the unit"
    host.programs["/bin/bash"] = bash = Seen()

    assert run_boot(make_boot(host), BOOT_STAGES, __version__) == 0

    environment = bash.environments["-c"]
    assert {name: environment[name] for name in ("A", "B", "PATH_OF")} == {
        "A": "1",
        "B": "$(reboot)",
        "PATH_OF": "x y",
    }
    assert environment["KUBERNETES_VERSION"] == "1.34.0"


def test_a_feature_never_replaces_a_variable_of_the_contract() -> None:
    host = make_sim_host(make_disk({**aks_files(), **at(b"KUBERNETES_VERSION=0.1\n")}))
    host.programs["/bin/bash"] = bash = Seen()

    assert run_boot(make_boot(host), BOOT_STAGES, __version__) == 0

    assert bash.environments["-c"]["KUBERNETES_VERSION"] == "1.34.0"


def test_an_nbc_command_is_started_with_the_features() -> None:
    host = make_sim_host(make_disk({**FEATURES, NBC_PATH: b"X=1 bash x"}))
    host.programs["/bin/bash"] = bash = Seen()

    assert run_boot(make_boot(host), BOOT_STAGES, __version__) == 0

    assert bash.environments["--"]["B"] == "$(reboot)"


def test_a_foreign_agent_is_started_with_the_features_in_every_stage() -> None:
    files = {**aks_files(), **at(f"A=1\n{GATE}=true\n".encode()), POINTER_PATH: b"{}"}
    host = make_sim_host(make_disk(files))
    host.programs[FOREIGN] = foreign = Seen()
    boot = make_boot(host)
    boot.foreign_agent = FOREIGN

    assert run_boot(boot, BOOT_STAGES, __version__) == 0

    assert sorted(foreign.environments) == ["check-hotfix", "provision", "version"]
    assert {environment["A"] for environment in foreign.environments.values()} == {"1"}
    assert "PATH" in foreign.environments["provision"]
