"""The driver of a VM size, and what an image says about its drivers."""

from collections.abc import Callable

import pytest

from fairlead.agent.aks.components import Components, parse_components
from fairlead.agent.aks.environment import environment_of
from fairlead.contract.node_config import NodeConfig
from fairlead.errors import InputError

Variables = Callable[..., dict[str, str]]


@pytest.mark.parametrize(
    ("vm_size", "kind", "version", "suffix"),
    [
        ("", "cuda-lts", "2.2", "lts-suffix"),
        ("Standard_D2s_v3", "cuda-lts", "2.2", "lts-suffix"),
        ("Standard_NC6", "cuda", "cuda-470.82.01", "lts-suffix"),
        ("standard_nc24rs", "cuda", "cuda-470.82.01", "lts-suffix"),
        ("Standard_NC6s_v3", "cuda-lts", "2.2", "lts-suffix"),
        ("STANDARD_NV36ADMS_A10_V5", "grid", "3.3", "grid-suffix"),
        ("Standard_NC32ads_A10_v4", "grid", "3.3", "grid-suffix"),
        ("Standard_NV12s_v3", "cuda-lts", "2.2", "lts-suffix"),
        ("Standard_NC320lds_xl_RTXPRO6000BSE_v6", "grid-v20", "4.4", "v20-suffix"),
        ("Standard_NC24lds_xl_RTXPRO6000BSE_v6", "grid-v20", "4.4", "v20-suffix"),
        ("Standard_NC24ds_xl_RTXPRO6000BSE_v6", "cuda-lts", "2.2", "lts-suffix"),
    ],
)
def test_the_vm_size_decides_the_driver(
    variables: Variables, vm_size: str, kind: str, version: str, suffix: str
) -> None:
    environment = variables({"vm_size": vm_size})

    assert environment["GPU_DRIVER_TYPE"] == kind
    assert environment["GPU_DRIVER_VERSION"] == version
    assert environment["GPU_IMAGE_SHA"] == suffix


@pytest.mark.parametrize(
    ("vm_size", "needed"),
    [
        ("Standard_ND96isrf_H200_v5", "true"),
        ("standard_nd120amsr_a100_v4", "true"),
        ("Standard_ND50s_H100_v5", "true"),
        ("Standard_NC96ads_A100_v4", "false"),
        ("Standard_NC80adis_H100_v5", "false"),
    ],
)
def test_fabric_manager_is_for_linked_gpus(variables: Variables, vm_size: str, needed: str) -> None:
    assert variables({"vm_size": vm_size})["GPU_NEEDS_FABRIC_MANAGER"] == needed


@pytest.mark.parametrize(
    ("vm_size", "has_sgx"),
    [("Standard_DC2s", "true"), ("Standard_DC4s", "true"), ("standard_dc2s", "false")],
)
def test_sgx_sizes_match_only_as_written(variables: Variables, vm_size: str, has_sgx: str) -> None:
    assert variables({"vm_size": vm_size})["SGX_NODE"] == has_sgx


def test_without_components_only_the_fixed_driver_has_a_version() -> None:
    old = environment_of(NodeConfig({"vm_size": "Standard_NC6"}), Components(), "")
    recent = environment_of(NodeConfig({"vm_size": "Standard_NC6s_v3"}), Components(), "")

    assert (old["GPU_DRIVER_VERSION"], old["GPU_IMAGE_SHA"]) == ("cuda-470.82.01", "")
    assert (recent["GPU_DRIVER_VERSION"], recent["GPU_IMAGE_SHA"]) == ("", "")


def test_components_name_driver_and_suffix_by_repository() -> None:
    components = parse_components(
        b"""{"GPUContainerImages": [
            {"downloadURL": "registry.test/aks/aks-gpu-grid:*",
             "gpuVersion": {"latestVersion": "570.1-2026"}},
            {"downloadURL": "aks-gpu-cuda-lts", "gpuVersion": {"latestVersion": "580.1-2027"}},
            {"downloadURL": "registry.test/aks-gpu-cuda:*", "gpuVersion": {"latestVersion": "1"}},
            {"downloadURL": "registry.test/x:*", "gpuVersion": {"latestVersion": "1-2-3"}},
            null]}"""
    )

    assert components.gpu_images == {
        "aks-gpu-grid": ("570.1", "2026"),
        "aks-gpu-cuda-lts": ("580.1", "2027"),
    }


@pytest.mark.parametrize(
    "text", [b"null", b"{}", b'{"GPUContainerImages": null}', b'{"a": "\xff"}']
)
def test_components_may_name_no_driver(text: bytes) -> None:
    assert parse_components(text).gpu_images == {}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not json",
        b"[]",
        b"\xff",
        b'{"GPUContainerImages": {}}',
        b'{"GPUContainerImages": ["x"]}',
        b'{"GPUContainerImages": [{"downloadURL": 5}]}',
        b'{"GPUContainerImages": [{"downloadURL": "a", "gpuVersion": "1-2"}]}',
        b'{"GPUContainerImages": [{"downloadURL": "a", "gpuVersion": {"latestVersion": 5}}]}',
        b'{"GPUContainerImages": []} trailing',
    ],
)
def test_components_that_upstream_cannot_read_are_refused(text: bytes) -> None:
    with pytest.raises(InputError):
        parse_components(text)
