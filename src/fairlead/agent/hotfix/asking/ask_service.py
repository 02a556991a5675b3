"""
Ask the hotfix service: which wire, whom, trusted by what, and with which proof.

The image may say it in service.json. Else a machine with a boot document asks where its node
config came from, and any other machine the API server's address, as the AKS agent does.
"""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.files import find_file
from fairlead.agent.hotfix.asking.answered import Rejected, Served, Unreachable
from fairlead.agent.hotfix.asking.metadata_service import find_proof
from fairlead.agent.hotfix.asking.service_file import (
    AZURE,
    GRPC,
    HTTPS,
    JOIN,
    ServiceFile,
    read_service_file,
)
from fairlead.contract.boot_document import PEM_START, address_of, parse_boot_document
from fairlead.contract.hotfix.answer import AKS_COMPONENT, HOTFIX_PATH, OUR_COMPONENT
from fairlead.contract.node_secrets import spellings_of
from fairlead.errors import FairleadError, InputError, TrustError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot
    from fairlead.contract.boot_document import BootDocument

# spec/hotfix.md section 2: from connecting to the whole answer.
ROUND_TRIP_S = 3.0

# What a proxy in front of an API server routes by, and what is spoken.
ALPN = ("aks-live-patching", "h2")

OK, NO_CONTENT = 200, 204
CLIENT_ERRORS = range(400, 500)
STATUSES = {
    400: "InvalidArgument",
    401: "Unauthenticated",
    403: "PermissionDenied",
    404: "NotFound",
    429: "ResourceExhausted",
    500: "Internal",
    503: "Unavailable",
}

BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


class ServiceAddress:
    """
    Whom to ask. `token` is of the boot document, '' where there is none.

    audience: whom a proof is for, where the cloud asks. A report is proven for the address asked.
    """

    __slots__ = ("attestation", "audience", "ca", "endpoint", "server_name", "token", "wire")

    def __init__(self, wire: str, endpoint: str, ca: str) -> None:
        self.wire = wire
        self.endpoint = endpoint
        self.audience = endpoint
        self.ca = ca
        self.server_name = ""
        self.attestation = AZURE
        self.token = ""


def ask_service(boot: Boot, end_ns: int) -> Served | Rejected | Unreachable:
    """Return what the service says; end_ns is on the host's monotonic clock. Never raises."""
    try:
        service = find_service(boot)
        proof = proof_for(boot.run, service, end_ns)
        left_s = (end_ns - boot.run.host.monotonic_ns()) / 1e9
        if left_s <= 0:
            raise UnavailableError("no time is left to ask the hotfix service")
        ask = _ask_grpc if service.wire == GRPC else _ask_https
        return ask(boot, service, proof, min(left_s, ROUND_TRIP_S))
    except OSError as error:
        said = str(error) or type(error).__name__
        if getattr(error, "verify_code", 0):
            said = f"{address_of(service.endpoint)[0]} did not prove itself: {said}"
        return Unreachable(said)
    except FairleadError as error:
        return Unreachable(str(error))


def find_service(boot: Boot) -> ServiceAddress:
    """Return whom to ask. Raises a FairleadError where an answer could not be verified."""
    file = read_service_file(boot.run.host)
    document = find_boot_document(boot.run)
    return completed(_service_of(boot, file, document), file, document)


def completed(
    service: ServiceAddress, file: ServiceFile, document: BootDocument | None
) -> ServiceAddress:
    """Return the service with what the image and the boot document say of proofs and names."""
    service.server_name = file.server_name
    service.attestation = file.attestation or (JOIN if document else AZURE)
    service.token = document.token if document else ""
    return service


def _service_of(boot: Boot, file: ServiceFile, document: BootDocument | None) -> ServiceAddress:
    if file.endpoint:
        return ServiceAddress(file.wire or HTTPS, file.endpoint, file.ca)
    if document and file.wire != GRPC:
        authority = document.endpoint.partition("://")[2].partition("/")[0]
        return ServiceAddress(HTTPS, f"https://{authority}{HOTFIX_PATH}", file.ca or document.ca)
    name, ca = _api_server_of(boot)
    if not name:
        raise UnavailableError("no API server name in the node config or NBC command")
    if not ca and not file.ca:
        raise TrustError("no cluster CA: an answer could not be verified")
    path = HOTFIX_PATH if file.wire == HTTPS else "/"
    endpoint = f"https://{name}{path}"
    address_of(endpoint, "api_server_name")
    return ServiceAddress(file.wire or GRPC, endpoint, file.ca or decode_ca(ca))


def decode_ca(text: str) -> str:
    """Return the PEM text in this base64. Raises InputError; nobody is asked unverified."""
    import binascii

    joined = "".join(text.split())
    try:
        if joined.strip(BASE64):
            raise InputError("is not base64", field="kubernetes_ca_cert")
        found = binascii.a2b_base64(joined).decode("ascii")
    except ValueError as error:
        raise InputError(f"is not PEM in base64: {error}", field="kubernetes_ca_cert") from error
    if PEM_START not in found:
        raise InputError(f"holds no certificate ({PEM_START})", field="kubernetes_ca_cert")
    return found


def find_boot_document(run: Run) -> BootDocument | None:
    """Return the boot document of this machine; None if it has none. Raises InputError."""
    text = find_file(run.host, run.layout.boot_document)
    return None if text is None else parse_boot_document(text)


def _api_server_of(boot: Boot) -> tuple[str, str]:
    """Return the name of the API server, and its CA in base64, from what the node boots from."""
    if boot.find_config_text() is not None:
        config = boot.read_config().config
        return config.text("api_server_config.api_server_name"), config.text("kubernetes_ca_cert")
    text = find_file(boot.run.host, boot.inputs.nbc_command)
    if text is None:
        return "", ""
    from fairlead.contract.nbc_command import environment_of_nbc_command

    variables = environment_of_nbc_command(text.decode("utf-8", "surrogateescape"))
    return variables.get("API_SERVER_NAME", ""), variables.get("KUBE_CA_CRT", "")


def proof_for(run: Run, service: ServiceAddress, end_ns: int) -> str:
    """Return what proves this machine; from here on it is masked. Raises UnavailableError."""
    if service.attestation != JOIN:
        proof = find_proof(run.host, service.attestation, service.audience, end_ns)
    elif service.token:
        proof = service.token
    else:
        raise UnavailableError(
            "the image says that a join token proves this machine, but it has no boot document"
        )
    run.redactor.learn(spellings_of([proof]))
    return proof


def _ask_https(
    boot: Boot, service: ServiceAddress, proof: str, deadline_s: float
) -> Served | Rejected | Unreachable:
    from fairlead.agent.control_plane import find_machine_name
    from fairlead.agent.https_fetch import Request

    mark = "&" if "?" in service.endpoint else "?"
    address = f"{service.endpoint}{mark}component={OUR_COMPONENT}&version={__version__}"
    request = Request(address, service.ca, proof, find_machine_name(boot.run.host))
    request.server_name = service.server_name
    status, body = boot.run.host.fetch(request, deadline_s=deadline_s)
    if status in (OK, NO_CONTENT):
        return Served(body if status == OK else b"")
    if status in CLIENT_ERRORS or status in STATUSES:
        # Another refusal of what was asked: asking differently is not in our hands.
        return Rejected(STATUSES.get(status, "InvalidArgument"))
    return Unreachable(f"status {status} from {service.endpoint}")


def _ask_grpc(
    boot: Boot, service: ServiceAddress, proof: str, deadline_s: float
) -> Served | Rejected | Unreachable:
    from fairlead.agent.control_plane import find_machine_name
    from fairlead.agent.hotfix.asking.live_patching import PATH, config_in, encode_request
    from fairlead.agent.network.grpc_call import UnaryCall
    from fairlead.agent.network.tls_connection import Peer

    host, port, _ = address_of(service.endpoint)
    peer = Peer(host, port, service.ca)
    peer.server_name = service.server_name or host
    peer.alpn = ALPN
    # Who says a version of ours is answered for our agent, and with what proves the answer.
    metadata = {"authorization": proof, "fairlead-version": __version__}
    if machine := find_machine_name(boot.run.host):
        metadata["fairlead-machine"] = machine
    asked = UnaryCall(peer, PATH, metadata, encode_request(AKS_COMPONENT))
    status, message = boot.run.host.call(asked, deadline_s=deadline_s)
    return Served(config_in(message)) if status == "OK" else Rejected(status)
