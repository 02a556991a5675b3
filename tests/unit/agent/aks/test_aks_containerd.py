"""The containerd config by containerd version, GPU, kata, artifact streaming and kubenet."""

import base64
from collections.abc import Callable

import pytest

from fairlead.agent.aks.containerd_version import containerd_version_of

Variables = Callable[..., dict[str, str]]


def containerd_config(
    environment: dict[str, str], variable: str = "CONTAINERD_CONFIG_CONTENT"
) -> str:
    return base64.b64decode(environment[variable]).decode()


def test_the_plain_config_of_containerd_1(variables: Variables) -> None:
    binaries = {"pod_infra_container_image_url": "pause {x} %s"}

    environment = variables({"kube_binary_config": binaries, "kubernetes_version": "1.22.0"})

    assert containerd_config(environment, "CONTAINERD_CONFIG_NO_GPU_CONTENT") == (
        "version = 2\n"
        "oom_score = -999\n"
        '[plugins."io.containerd.grpc.v1.cri"]\n'
        '  sandbox_image = "pause {x} %s"\n'
        '  [plugins."io.containerd.grpc.v1.cri".containerd]\n'
        '    default_runtime_name = "runc"\n'
        '    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]\n'
        '      runtime_type = "io.containerd.runc.v2"\n'
        '    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]\n'
        '      BinaryName = "/usr/bin/runc"\n'
        '    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.untrusted]\n'
        '      runtime_type = "io.containerd.runc.v2"\n'
        '    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.untrusted.options]\n'
        '      BinaryName = "/usr/bin/runc"\n'
        '  [plugins."io.containerd.grpc.v1.cri".registry]\n'
        '    config_path = "/etc/containerd/certs.d"\n'
        '  [plugins."io.containerd.grpc.v1.cri".registry.headers]\n'
        '    X-Meta-Source-Client = ["azure/aks"]\n'
        "[metrics]\n"
        '  address = "0.0.0.0:10257"\n'
    )


def test_kata_and_artifact_streaming_together_under_containerd_2(variables: Variables) -> None:
    environment = variables({"is_kata": True, "enable_artifact_streaming": True}, "2.1.4")

    content = containerd_config(environment)
    assert content.startswith(
        'version = 2\noom_score = -999\n[plugins."io.containerd.snapshotter.v1.erofs"]\n'
    )
    assert (
        '[plugins."io.containerd.cri.v1.images"]\n'
        '  snapshotter = "overlaybd"\n'
        "  disable_snapshot_annotations = false\n"
        '  [plugins."io.containerd.cri.v1.images".pinned_images]\n'
    ) in content
    assert content.count("[proxy_plugins]\n") == 2
    confidential = "containerd.runtimes.kata-cc]"
    assert confidential in content
    assert confidential not in containerd_config(environment, "CONTAINERD_CONFIG_NO_GPU_CONTENT")


def test_the_gpu_runtime_is_in_one_of_the_two_configs(variables: Variables) -> None:
    environment = variables({"gpu_config": {"enable_nvidia": True}, "needs_cgroupv2": True})

    content = containerd_config(environment)
    assert 'default_runtime_name = "nvidia-container-runtime"' in content
    assert (
        'BinaryName = "/usr/bin/nvidia-container-runtime"\n      SystemdCgroup = true\n' in content
    )
    without = containerd_config(environment, "CONTAINERD_CONFIG_NO_GPU_CONTENT")
    assert "nvidia" not in without
    assert "enable_cdi" not in without


@pytest.mark.parametrize(
    ("containerd", "plugin"),
    [
        ("", "io.containerd.grpc.v1.cri"),
        ("1.7.22", "io.containerd.grpc.v1.cri"),
        ("2.0.0-rc.1", "io.containerd.grpc.v1.cri"),
        ("2.0.0", "io.containerd.cri.v1.images"),
        ("2.1.4", "io.containerd.cri.v1.images"),
        ("nonsense", "io.containerd.grpc.v1.cri"),
    ],
)
def test_the_containerd_found_decides_the_layout(
    variables: Variables, containerd: str, plugin: str
) -> None:
    # The version that the document asks for plays no part.
    document = {"containerd_config": {"containerd_version": "2.9.9"}}

    assert plugin in containerd_config(variables(document, containerd))


@pytest.mark.parametrize(
    ("plugin", "policy", "bridge"),
    [(3, 0, "true"), (3, 2, "true"), (3, 3, "false"), (2, 0, "false"), (0, 0, "false")],
)
def test_kubenet_without_calico_has_its_bridge(
    variables: Variables, plugin: int, policy: int, bridge: str
) -> None:
    network = {"network_plugin": plugin, "network_policy": policy}

    environment = variables({"network_config": network})

    assert environment["ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE"] == bridge
    assert ("kubenet_template.conf" in containerd_config(environment)) == (bridge == "true")


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("containerd containerd.io 1.7.22 c814c75\n", "1.7.22"),
        ("containerd github.com/containerd/containerd/v2 v2.0.0 abc", "2.0.0"),
        ("containerd source 1.6.24-11-ubuntu1~24.04.1", "1.6.24"),
        ("containerd source 2.0.0-6.azl3 abc", "2.0.0"),
        ("containerd source 2.0", ""),
        ("containerd source 2.0.x", ""),
        ("containerd source 2..0", ""),
        ("containerd source -1.2.3", ""),
        ("containerd source 2.0.0+azl", ""),
        ("containerd source \u0662.0.0", ""),
        ("containerd 2.0.0", ""),
        ("", ""),
    ],
)
def test_the_version_is_read_off_the_output(output: str, version: str) -> None:
    assert containerd_version_of(output) == version
