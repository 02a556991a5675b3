"""
Is this machine a node? Its kubelet stayed up, and the cluster knows it, if the cluster answers.

The last step and the only one that depends on another machine, so it is bounded. What a cluster
that does not answer leaves open is said, and the boot goes on; a kubelet that died, or a cluster
that answers and refuses this machine, stops it.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.kubelet.kubeconfig import TOKEN_FIELD, server_url
from fairlead.agent.steps.kubelet.labels import ALPHANUMERIC
from fairlead.agent.steps.one_line import is_made_of
from fairlead.agent.steps.start import wait_until
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.taken_files import CA_FILE, CLIENT_CERTIFICATE, FLAGS_FIELD
from fairlead.agent.steps.units import KUBELET
from fairlead.agent.steps.watch import last_words_of, watch_service
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.steps.watch import Watch
    from fairlead.contract.node_config import NodeConfig

# Where the kubelet keeps the certificate it got for its token, with the key.
ROTATED_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"

# A server that can be reached answers in milliseconds; 5 s is one lost packet and its repeat.
REACHABLE_DEADLINE_S = 5.0

# Bootstrap, approval and registration take 2 to 10 s on a healthy cluster.
REGISTERED_DEADLINE_S = 30.0

# Often enough for people, seldom enough for a server that a fleet asks at once.
REMOTE_POLL_S = 0.25

# A kubelet that does not get along with its runtime or its settings gives up within seconds of
# its start, and may have called itself healthy before. Registering takes as long.
STEADY_S = 3.0

FOUND = 200
UNAUTHORIZED = 401

US_PER_S = 1_000_000
NS_PER_US = 1000


def apply_node_object(host: Host, config: NodeConfig) -> StepOutcome:
    """See this machine's kubelet stay up, and its Node object in the cluster. Changes nothing."""
    outcome = StepOutcome([], [], "")
    if not has_systemd(host):
        outcome.note = FILES_ONLY
        outcome.unconfirmed = "no kubelet was started: files only"
        return outcome
    watch = watch_service(host, KUBELET)
    name, doubt = _wait_for_node(host, config, watch)
    _wait_until_steady(host, watch)
    if doubt:
        outcome.unconfirmed = doubt
        outcome.add_note(f"not confirmed: {doubt}")
    else:
        outcome.already.append(f"the cluster knows node {name}")
    return outcome


def _wait_for_node(host: Host, config: NodeConfig, watch: Watch) -> tuple[str, str]:
    """Return the node's name and '', or what could not be confirmed. Raises if it was refused."""
    server = server_url(config)

    def answers() -> bool:
        watch.refuse_death()
        return _answers(host, server)

    if not wait_until(host, REACHABLE_DEADLINE_S, answers, REMOTE_POLL_S):
        return "", f"{server} did not answer within {REACHABLE_DEADLINE_S:g} s"
    try:
        name = _node_name(host, config)
    except InputError as error:
        return "", str(error)

    def is_registered() -> bool:
        watch.refuse_death()
        return _ask_as_node(host, f"{server}/api/v1/nodes/{name}") == FOUND

    if wait_until(host, REGISTERED_DEADLINE_S, is_registered, REMOTE_POLL_S):
        return name, ""
    _refuse_stranger(host, config, server)
    return name, (
        f"{server} answers but does not show node {name} after {REGISTERED_DEADLINE_S:g} s"
        + ("" if _find_certificate(host) else "; its certificate request has no answer")
    )


def _wait_until_steady(host: Host, watch: Watch) -> None:
    """Return when the kubelet has been up for STEADY_S; raise if it dies before."""
    now_us = host.monotonic_ns() // NS_PER_US
    up_s = (now_us - (watch.started_us or now_us)) / US_PER_S

    def is_over() -> bool:
        watch.refuse_death()
        return False

    wait_until(host, max(0.0, STEADY_S - up_s), is_over)


def _refuse_stranger(host: Host, config: NodeConfig, server: str) -> None:
    """Raise if the cluster does not know what this machine proves itself with."""
    if _find_certificate(host):
        what, status = "client certificate", _ask_as_node(host, f"{server}/version")
    else:
        what, status = "bootstrap token", _ask_with_token(host, config, server)
    if status == UNAUTHORIZED:
        raise UnavailableError(
            f"{server} does not know the {what} of this machine (status {status}), "
            f"{REGISTERED_DEADLINE_S:g} s after its kubelet was started",
            said=last_words_of(host, KUBELET),
        )


def _answers(host: Host, server: str) -> bool:
    try:
        # Any status will do: an API server that refuses a stranger is there.
        host.fetch_status(f"{server}/readyz", ca_file=CA_FILE)
    except OSError:
        return False
    return True


def _find_certificate(host: Host) -> str:
    """Return where the certificate of this machine is, the kubelet's own first; '' if nowhere."""
    for certificate in (ROTATED_CERTIFICATE, CLIENT_CERTIFICATE):
        if host.file_mode(certificate) is not None:
            return certificate
    return ""


def _ask_as_node(host: Host, url: str) -> int:
    """Return the status of the answer to this machine's certificate; 0 without one."""
    certificate = _find_certificate(host)
    if not certificate:
        return 0
    try:
        return host.fetch_status(url, ca_file=CA_FILE, certificate_file=certificate)
    except OSError:
        return 0


def _ask_with_token(host: Host, config: NodeConfig, server: str) -> int:
    """Return the status of the answer to the bootstrap token; 0 if there is none."""
    from fairlead.agent.https_fetch import Request

    ca = (find_file(host, CA_FILE) or b"").decode("utf-8", "replace")
    # Open to everybody, except to those who show something that is not known.
    request = Request(f"{server}/version", ca, config.text(TOKEN_FIELD))
    try:
        status, _ = host.fetch(request, deadline_s=REACHABLE_DEADLINE_S)
    except (OSError, InputError):
        return 0
    return status


def _node_name(host: Host, config: NodeConfig) -> str:
    """Return the name the kubelet registers: the flag's, or the machine's, in small letters."""
    given = config.mapping(FLAGS_FIELD).get("--hostname-override")
    name = given if isinstance(given, str) and given else ""
    if not name:
        name = (find_file(host, "/proc/sys/kernel/hostname") or b"").decode().strip()
    if not is_made_of(name, ALPHANUMERIC + "-."):
        raise InputError("the name of this machine is not a node name", hint="see hostnamectl")
    return name.lower()
