"""
The steps from an image with containerd and kubelet to a node, top to bottom.

To add one: write `apply_x(host, config)` beside the others, add its row where its files must be
there, and choose its word. STOP_BOOT is for what would leave no node, or one that cannot pull an
image; a node with a default kernel setting is better than none.
"""

from __future__ import annotations

from fairlead.agent.on_failure import BOOT_ANYWAY, STOP_BOOT
from fairlead.agent.steps.containerd_config import apply_containerd_config
from fairlead.agent.steps.kernel.huge_pages import apply_huge_pages
from fairlead.agent.steps.kernel.swap import apply_swap
from fairlead.agent.steps.kernel.sysctl import apply_sysctl
from fairlead.agent.steps.kernel.ulimits import apply_ulimits
from fairlead.agent.steps.kubelet.certificates import apply_certificates
from fairlead.agent.steps.kubelet.config import apply_kubelet_config
from fairlead.agent.steps.kubelet.flags import apply_kubelet_flags
from fairlead.agent.steps.kubelet.kubeconfig import apply_kubeconfig
from fairlead.agent.steps.kubelet.node_object import apply_node_object
from fairlead.agent.steps.machine import apply_machine
from fairlead.agent.steps.pool_access import apply_pull_secret, apply_ssh_keys
from fairlead.agent.steps.pool_files import apply_pool_files
from fairlead.agent.steps.programs import apply_programs
from fairlead.agent.steps.proxy import apply_proxy
from fairlead.agent.steps.registry_mirrors import apply_registry_mirrors
from fairlead.agent.steps.start import apply_containerd_start, apply_kubelet_start
from fairlead.agent.steps.step import Step
from fairlead.agent.steps.units import apply_units

NODE_STEPS = (
    Step("find-programs", apply_programs, STOP_BOOT),
    # First, so that whatever reads a file of the owner's finds it; without it the machine is not
    # what the pool asks for, and what it lacks may be how images are pulled.
    Step("pool-files", apply_pool_files, STOP_BOOT),
    Step("ssh-keys", apply_ssh_keys, BOOT_ANYWAY),
    Step("trust-certificates", apply_certificates, STOP_BOOT),
    Step("proxy-environment", apply_proxy, STOP_BOOT),
    Step("kernel-settings", apply_sysctl, BOOT_ANYWAY),
    Step("swap", apply_swap, BOOT_ANYWAY),
    Step("huge-pages", apply_huge_pages, BOOT_ANYWAY),
    Step("ulimits", apply_ulimits, BOOT_ANYWAY),
    Step("containerd-config", apply_containerd_config, STOP_BOOT),
    Step("registry-mirrors", apply_registry_mirrors, STOP_BOOT),
    Step("pull-secret", apply_pull_secret, STOP_BOOT),
    Step("kubelet-config", apply_kubelet_config, STOP_BOOT),
    Step("kubelet-flags", apply_kubelet_flags, STOP_BOOT),
    Step("bootstrap-kubeconfig", apply_kubeconfig, STOP_BOOT),
    Step("systemd-units", apply_units, STOP_BOOT),
    Step("start-containerd", apply_containerd_start, STOP_BOOT),
    # The kubelet registers under the machine's name, and reports its addresses.
    Step("wait-for-machine", apply_machine, BOOT_ANYWAY),
    Step("start-kubelet", apply_kubelet_start, STOP_BOOT),
    # What cannot be confirmed is a note; only a dead kubelet or a refused machine fails.
    Step("wait-for-node", apply_node_object, STOP_BOOT),
)
