"""Scripts of an AKS image run only beside the components.json that its drivers come from."""

import json

import pytest

from builders import (
    COMPONENTS_PATH,
    CONFIG_PATH,
    NBC_PATH,
    STATUS_PATH,
    aks_files,
    make_boot,
    make_disk,
    make_sim_host,
)
from fairlead import __version__
from fairlead.agent.boot import PROVISION_STAGES, run_boot
from fairlead.agent.dry_run import describe_provision

MISSING = (
    "/opt/azure/components.json: missing, and bootstrap scripts install GPU drivers by it "
    "(it is part of every image that AKS builds; put the image's own back)"
)


def files_with(components: bytes | None) -> dict[str, bytes]:
    files = aks_files()
    if components is None:
        del files[COMPONENTS_PATH]
    else:
        files[COMPONENTS_PATH] = components
    return files


@pytest.mark.parametrize(
    ("components", "error"),
    [
        (None, MISSING),
        (b"", "/opt/azure/components.json: cannot be used: not JSON: the text ends at character 0"),
        (
            b'{"GPUContainerImages": 5}',
            "/opt/azure/components.json: cannot be used: expected a list of GPUContainerImages",
        ),
    ],
)
def test_components_that_nobody_can_read_stop_the_boot_before_any_script(
    components: bytes | None, error: str
) -> None:
    disk = make_disk(files_with(components))
    host = make_sim_host(disk)

    assert run_boot(make_boot(host), PROVISION_STAGES, __version__) == 1

    status = json.loads(disk.read(STATUS_PATH).content)
    assert (status["ExitCode"], status["Error"]) == ("240", error)
    assert ["/bin/bash"] not in [command[:1] for command in host.started]


def test_drivers_reach_the_scripts() -> None:
    image = {"downloadURL": "x/aks-gpu-cuda-lts:*", "gpuVersion": {"latestVersion": "580.1-2026"}}
    components = json.dumps({"GPUContainerImages": [image]}).encode()
    boot = make_boot(make_sim_host(make_disk(files_with(components))))

    answer = json.loads(describe_provision(boot, as_json=True))

    assert "stops" not in answer
    assert answer["env"]["GPU_DRIVER_VERSION"] == "580.1"
    assert answer["env"]["GPU_IMAGE_SHA"] == "2026"


def test_an_nbc_command_needs_no_components() -> None:
    files = {**files_with(None), NBC_PATH: b"A=1 bash x"}
    host = make_sim_host(make_disk(files))

    assert run_boot(make_boot(host), PROVISION_STAGES, __version__) == 0

    assert host.started[0] == ["/bin/bash", "--", NBC_PATH]
    assert b"environments not compared" in host.said


def test_a_dry_run_without_components_says_that_the_boot_would_stop() -> None:
    boot = make_boot(make_sim_host(make_disk(files_with(None))))

    answer = json.loads(describe_provision(boot, as_json=True))

    assert answer["stops"] == MISSING
    assert answer["env"]["KUBERNETES_VERSION"] == "1.34.0"


def test_built_in_steps_need_no_components() -> None:
    boot = make_boot(make_sim_host(make_disk({CONFIG_PATH: aks_files()[CONFIG_PATH]})))

    answer = json.loads(describe_provision(boot, as_json=True))

    assert answer["runs"] == "built-in-steps"
    assert "stops" not in answer
