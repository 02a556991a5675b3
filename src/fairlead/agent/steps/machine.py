"""Wait for what the kubelet expects of a machine: network and host name. See readiness.py."""

from __future__ import annotations

from fairlead.agent.readiness import host_name, wait_for_network
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig


def apply_machine(host: Host, _config: NodeConfig) -> StepOutcome:
    """Have the network up and, with it, the host name that cloud-init gives. Changes nothing."""
    outcome = StepOutcome([], [], "")
    if not has_systemd(host):
        outcome.note = FILES_ONLY
        return outcome
    wait_for_network(host)
    outcome.already.append(f"the network is there, the host name is {host_name(host)}")
    return outcome
