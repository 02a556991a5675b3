"""
How the kubelet proves who it is: a bootstrap token it trades for a certificate, or a certificate.

Once the kubelet has its own kubeconfig it rotates the certificate in it, so an existing one that
is not ours is never touched. Written as JSON, which is YAML: a token cannot leave its string.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.kubelet.config import FIELDS
from fairlead.agent.steps.kubelet.pem import CERTIFICATE, PRIVATE_KEY, pem_of
from fairlead.agent.steps.one_line import is_made_of, one_line
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.taken_files import (
    BOOTSTRAP_KUBECONFIG,
    CA_FILE,
    CLIENT_CERTIFICATE,
    KUBECONFIG,
)
from fairlead.agent.steps.write import PUBLIC, SECRET, apply_absence, apply_file
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

SERVER_FIELD = "api_server_config.api_server_name"
CA_FIELD = "kubernetes_ca_cert"
TOKEN_FIELD = "bootstrapping_config.tls_bootstrapping_token"  # noqa: S105 - a field's name
CERTIFICATE_FIELD = "kubelet_config.kubelet_client_cert_content"
KEY_FIELD = "kubelet_config.kubelet_client_key"

# What AKS API servers listen on; kubeadm's 6443 comes with the name.
DEFAULT_PORT = 443
HIGHEST_PORT = 65535

# The name of the user in a kubeconfig that we wrote, by which we know it again.
OUR_USER = "fairlead-client-certificate"

HOST_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"


def server_url(config: NodeConfig) -> str:
    """Return the API server's address, always with a port."""
    name = config.text(SERVER_FIELD)
    host, bracket, rest = name.partition("]")
    if bracket:
        is_host = host[:1] == "[" and is_made_of(host[1:], "0123456789abcdefABCDEF:.")
        host, colon, port = host + bracket, rest[:1], rest[1:]
    else:
        host, colon, port = name.partition(":")
        is_host = is_made_of(host, HOST_CHARACTERS)
    port = port if colon == ":" else str(DEFAULT_PORT) if colon == "" else ""
    is_port = is_made_of(port, "0123456789") and 0 < int(port[:6]) <= HIGHEST_PORT
    if not is_host or not is_port:
        raise InputError(
            "not a host name with an optional port" if name else "missing",
            field=SERVER_FIELD,
            hint="expected NAME, NAME:PORT or [IPV6]:PORT",
        )
    return f"https://{host}:{port}"


def ca_of(config: NodeConfig) -> bytes:
    """Return the cluster's certificate authority as PEM."""
    value = config.text(CA_FIELD)
    if not value:
        raise InputError("missing", field=CA_FIELD, hint="the kubelet needs the cluster's CA")
    return pem_of(value, CA_FIELD, CERTIFICATE)


def render_kubeconfig(server: str, user: str, credentials: dict[str, str]) -> str:
    """Return a kubeconfig with one cluster and one user."""
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "cluster", "cluster": {"server": server, "certificate-authority": CA_FILE}}
        ],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "node", "context": {"cluster": "cluster", "user": user}}],
        "current-context": "node",
    }
    return encode_json(kubeconfig, indent=2) + "\n"


def apply_kubeconfig(host: Host, config: NodeConfig) -> StepOutcome:
    """Leave the cluster's CA and what the kubelet needs to join."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    server = server_url(config)
    _apply_ca(host, config, outcome)
    token = one_line(config.text(TOKEN_FIELD), TOKEN_FIELD)
    has_certificate = bool(config.text(CERTIFICATE_FIELD) and config.text(KEY_FIELD))
    if token:
        text = render_kubeconfig(server, "bootstrap-token", {"token": token})
        apply_file(host, BOOTSTRAP_KUBECONFIG, text.encode(), SECRET, outcome)
    elif has_certificate:
        _apply_client_certificate(host, config, server, outcome)
    elif not _has_foreign_kubeconfig(host):
        raise InputError(
            "missing, and so is a client certificate",
            field=TOKEN_FIELD,
            hint=f"the built-in steps join with a token, or with {CERTIFICATE_FIELD} "
            f"and {KEY_FIELD}",
        )
    if _has_foreign_kubeconfig(host):
        outcome.already.append(f"{KUBECONFIG} is the kubelet's own; kept")
    return outcome


def _apply_ca(host: Host, config: NodeConfig, outcome: StepOutcome) -> None:
    ca = ca_of(config)
    apply_file(host, CA_FILE, ca, PUBLIC, outcome)
    # AKS configs name another place for the same certificate; the kubelet needs it there.
    field = f"{FIELDS}.authentication.x509.client_ca_file"
    path = one_line(config.text(field), field)
    if path.startswith("/etc/kubernetes/") and path != CA_FILE and ".." not in path:
        apply_file(host, path, ca, PUBLIC, outcome)


def _apply_client_certificate(
    host: Host, config: NodeConfig, server: str, outcome: StepOutcome
) -> None:
    certificate = pem_of(config.text(CERTIFICATE_FIELD), CERTIFICATE_FIELD, CERTIFICATE)
    key = pem_of(config.text(KEY_FIELD), KEY_FIELD, PRIVATE_KEY)
    apply_file(host, CLIENT_CERTIFICATE, certificate + key, SECRET, outcome)
    # A token file of an earlier config would make the kubelet bootstrap with it first.
    apply_absence(host, BOOTSTRAP_KUBECONFIG, outcome)
    if _has_foreign_kubeconfig(host):
        return
    files = {"client-certificate": CLIENT_CERTIFICATE, "client-key": CLIENT_CERTIFICATE}
    text = render_kubeconfig(server, OUR_USER, files)
    apply_file(host, KUBECONFIG, text.encode(), SECRET, outcome)


def _has_foreign_kubeconfig(host: Host) -> bool:
    """Say whether there is a usable kubeconfig that the kubelet, or an operator, wrote."""
    found = find_file(host, KUBECONFIG) or b""
    is_whole = b"server:" in found and b"user:" in found
    return is_whole and OUR_USER.encode() not in found
