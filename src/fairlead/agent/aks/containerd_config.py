"""
The containerd config of a machine, with and without its GPU, as base64.

The pieces are data, in containerd_config_text.py. containerd 2 has another layout of plugins;
a containerd that was not found counts as 1. Scripts that find no usable driver fall back to the
config without GPU.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import base64_of, render_flag
from fairlead.agent.aks.semantic_version import is_at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine
    from fairlead.contract.node_config import NodeConfig

CONTAINERD_2 = (2, 0, 0)
# From here on registries are configured by files in certs.d.
KUBERNETES_WITH_CERTS_D = (1, 22, 0)

KUBENET = 3
CALICO = 3


def containerd_config(machine: Machine) -> str:
    """CONTAINERD_CONFIG_CONTENT."""
    runtime = "nvidia" if machine.config.flag("gpu_config.enable_nvidia") else "runc"
    return base64_of(render_containerd_config(machine, {"gpu-file", runtime}))


def containerd_config_without_gpu(machine: Machine) -> str:
    """CONTAINERD_CONFIG_NO_GPU_CONTENT."""
    return base64_of(render_containerd_config(machine, {"runc"}))


def kubenet_template(machine: Machine) -> str:
    """KUBENET_TEMPLATE, the same for every machine: containerd fills it in."""
    from fairlead.agent.aks.containerd_config_text import KUBENET_TEMPLATE

    return base64_of(KUBENET_TEMPLATE)


def kubenet_bridge(machine: Machine) -> str:
    """ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE."""
    return render_flag(_has_kubenet_bridge(machine.config))


def render_containerd_config(machine: Machine, runtime: set[str]) -> str:
    """Return the config file of the given runtime pieces and of what the node config asks for."""
    # Imported here: only a boot that runs the scripts needs the texts.
    from fairlead.agent.aks.containerd_config_text import CONTAINERD_1_PIECES, CONTAINERD_2_PIECES

    config = machine.config
    wanted = runtime | _conditions_of(config)
    is_2 = is_at_least(machine.containerd_version, CONTAINERD_2)
    pieces = CONTAINERD_2_PIECES if is_2 else CONTAINERD_1_PIECES
    template = "".join(piece for needed, piece in pieces if wanted.issuperset(needed.split()))
    return template.format(
        data_dir=config.text("kubelet_config.container_data_dir"),
        sandbox_image=config.text("kube_binary_config.pod_infra_container_image_url"),
    )


def _conditions_of(config: NodeConfig) -> set[str]:
    conditions = {
        "data-dir": bool(config.text("kubelet_config.container_data_dir")),
        "kata": config.flag("is_kata"),
        "artifact-streaming": config.flag("enable_artifact_streaming"),
        "cgroup-v2": config.flag("needs_cgroupv2"),
        "kubenet-bridge": _has_kubenet_bridge(config),
        "certs.d": is_at_least(config.text("kubernetes_version"), KUBERNETES_WITH_CERTS_D),
    }
    return {name for name, holds in conditions.items() if holds}


def _has_kubenet_bridge(config: NodeConfig) -> bool:
    is_kubenet = config.number("network_config.network_plugin") == KUBENET
    return is_kubenet and config.number("network_config.network_policy") != CALICO
