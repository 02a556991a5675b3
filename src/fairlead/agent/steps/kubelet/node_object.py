"""
Wait until the cluster knows this machine as a node, if the cluster answers at all.

The last step and the only one that depends on another machine, so it is short and the boot goes
on without it.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.kubelet.config import CA_FILE
from fairlead.agent.steps.kubelet.flags import FLAGS_FIELD
from fairlead.agent.steps.kubelet.kubeconfig import CLIENT_CERTIFICATE, server_url
from fairlead.agent.steps.kubelet.labels import ALPHANUMERIC
from fairlead.agent.steps.one_line import is_made_of
from fairlead.agent.steps.start import wait_until
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

# Where the kubelet keeps the certificate it got for its token, with the key.
ROTATED_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"

# A server that can be reached answers in milliseconds; 5 s is one lost packet and its repeat.
REACHABLE_DEADLINE_S = 5.0

# Bootstrap, approval and registration take 2 to 10 s on a healthy cluster.
REGISTERED_DEADLINE_S = 30.0

FOUND = 200


def apply_node_object(host: Host, config: NodeConfig) -> StepOutcome:
    """See the Node object of this machine in the cluster. Changes nothing."""
    outcome = StepOutcome([], [], "")
    if not has_systemd(host):
        outcome.note = FILES_ONLY
        return outcome
    server = server_url(config)
    if not wait_until(host, REACHABLE_DEADLINE_S, lambda: _answers(host, server)):
        outcome.note = (
            f"{server} did not answer within {REACHABLE_DEADLINE_S:g} s: "
            "not waited for the Node object"
        )
        return outcome
    name = _node_name(host, config)
    url = f"{server}/api/v1/nodes/{name}"
    if not wait_until(host, REGISTERED_DEADLINE_S, lambda: _is_registered(host, url)):
        raise UnavailableError(
            f"{server} answers but does not show node {name} after {REGISTERED_DEADLINE_S:g} s; "
            "see journalctl -u kubelet.service"
        )
    outcome.already.append(f"the cluster knows node {name}")
    return outcome


def _answers(host: Host, server: str) -> bool:
    try:
        # Any status will do: an API server that refuses a stranger is there.
        host.fetch_status(f"{server}/readyz", ca_file=CA_FILE)
    except OSError:
        return False
    return True


def _is_registered(host: Host, url: str) -> bool:
    for certificate in (ROTATED_CERTIFICATE, CLIENT_CERTIFICATE):
        if host.file_mode(certificate) is not None:
            break
    else:
        return False
    try:
        status = host.fetch_status(url, ca_file=CA_FILE, certificate_file=certificate)
    except OSError:
        return False
    return status == FOUND


def _node_name(host: Host, config: NodeConfig) -> str:
    """Return the name the kubelet registers: the flag's, or the machine's, in small letters."""
    given = config.mapping(FLAGS_FIELD).get("--hostname-override")
    name = given if isinstance(given, str) and given else ""
    if not name:
        name = (find_file(host, "/proc/sys/kernel/hostname") or b"").decode().strip()
    if not is_made_of(name, ALPHANUMERIC + "-."):
        raise InputError("the name of this machine is not a node name", hint="see hostnamectl")
    return name.lower()
