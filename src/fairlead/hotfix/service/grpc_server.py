"""
Pointers over gRPC, exactly as the AKS live-patching contract: an AKS node controller is a client.

TLS 1.2 or newer. Clients offer the ALPN names `aks-live-patching` and `h2`; this server picks `h2`,
the other one is for whoever routes connections in front of it. A client that offers
`aks-live-patching` alone is not served: gRPC's core insists on `h2`.

What is sent as metadata: `authorization` is the proof, as it is, without a scheme. Agents of ours
add `fairlead-version`, and `fairlead-machine` where the proof does not name the machine; they get
the signed metadata with the pointer. Others get the pointer alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.errors import InputError, UnavailableError
from fairlead.hotfix.service.asked import Question, Reply, Status
from fairlead.hotfix.service.grpc_certificate import CertificatePair
from fairlead.hotfix.service.grpc_message import METHOD, parse_request, render_response

# Its core writes a line about every hand-shake that fails, which anybody can make fail.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
try:
    import grpc
except ModuleNotFoundError:
    raise InputError(
        "the gRPC wire needs the package grpcio, which is not installed",
        hint="pip install 'fairlead[grpc]'",
    ) from None

if TYPE_CHECKING:
    from fairlead.hotfix.service.asked import Pointers

# Bytes. A request has one short text.
LONGEST_REQUEST = 4 * 1024

# Bytes of all metadata of a request. An attested document of Azure has 5 to 8 KiB.
LONGEST_METADATA = 32 * 1024

# Seconds that a connection may last, idle or not: a node asks once and leaves.
CONNECTION_AGE_S = 60
IDLE_S = 15
HANDSHAKE_S = 5

# Calls at once in one connection; a node makes one.
STREAMS = 8

# Texts of metadata that are passed on are no longer than this; what they mean is decided later.
LONGEST_NAME = 253

_UNDERSTOOD = ("authorization", "fairlead-version", "fairlead-machine")

_CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcSettings:
    """
    How much a server takes on.

    threads: answers at once. calls: at once, with those that wait for a thread; what is above is
    refused as RESOURCE_EXHAUSTED. shares_port: other processes serve the same port (SO_REUSEPORT).
    """

    threads: int = 8
    calls: int = 2000
    shares_port: bool = False


class GrpcServer:
    """A server that runs. `port` is the one that it got."""

    def __init__(self, server: Any, port: int, certificate: CertificatePair) -> None:
        self.port = port
        self._server = server
        self._certificate = certificate

    @property
    def certificate_problem(self) -> str:
        """Why a renewed certificate is not in use, or ''. The one before stays in use."""
        return self._certificate.problem

    def stop(self, grace_s: float = 2.0) -> None:
        """Refuse new calls at once, let the ones that run end in this time, return when all did."""
        self._server.stop(grace_s).wait()


def serve_grpc(
    pointers: Pointers,
    address: str,
    certificate: CertificatePair,
    now: Callable[[], datetime],
    settings: GrpcSettings | None = None,
) -> GrpcServer:
    """
    Serve at `host:port` (port 0: any) until `stop`.

    `pointers` is asked from several threads at once. Raises UnavailableError if the address is
    taken, InputError if the certificate cannot be used.
    """
    settings = settings or GrpcSettings()
    server = grpc.server(
        ThreadPoolExecutor(settings.threads, thread_name_prefix="hotfix-grpc"),
        handlers=(_Handlers(_Answers(pointers, now)),),
        options=_options(settings),
        maximum_concurrent_rpcs=settings.calls,
    )
    first = certificate.read()
    credentials = grpc.dynamic_ssl_server_credentials(
        _configuration(first), lambda: _renewed(certificate), require_client_authentication=False
    )
    try:
        port = server.add_secure_port(address, credentials)
    except RuntimeError:
        port = 0
    if port == 0:
        raise UnavailableError(
            f"cannot listen at {address}: in use, or no address of this computer"
        )
    server.start()
    return GrpcServer(server, port, certificate)


def _options(settings: GrpcSettings) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", LONGEST_REQUEST),
        ("grpc.max_metadata_size", LONGEST_METADATA),
        ("grpc.absolute_max_metadata_size", LONGEST_METADATA),
        ("grpc.max_concurrent_streams", STREAMS),
        ("grpc.max_connection_age_ms", CONNECTION_AGE_S * 1000),
        ("grpc.max_connection_age_grace_ms", IDLE_S * 1000),
        ("grpc.max_connection_idle_ms", IDLE_S * 1000),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_S * 1000),
        ("grpc.so_reuseport", int(settings.shares_port)),
    ]


def _configuration(pair: tuple[bytes, bytes]) -> Any:
    chain, key = pair
    return grpc.ssl_server_certificate_configuration([(key, chain)])


def _renewed(certificate: CertificatePair) -> Any:
    """Return the pair for connections from now on, or None if it is the one in use."""
    changed = certificate.read_if_changed()
    return None if changed is None else _configuration(changed)


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """One method; gRPC itself answers UNIMPLEMENTED to all others."""

    def __init__(self, answers: _Answers) -> None:
        self._handler = grpc.unary_unary_rpc_method_handler(answers.get_component_config)

    def service(self, handler_call_details: Any) -> Any:
        return self._handler if handler_call_details.method == METHOD else None


@dataclass(frozen=True, slots=True)
class _Answers:
    pointers: Pointers
    now: Callable[[], datetime]

    def get_component_config(self, message: bytes, context: Any) -> bytes:
        """Answer one call; what is not OK ends it with its code and a sentence."""
        try:
            component = parse_request(message)
            reply = self._reply(component, context.invocation_metadata())
        except InputError as error:
            reply = Reply(status=Status.INVALID_ARGUMENT, problem=str(error))
        if reply.status is not Status.OK:
            context.abort(_CODES[reply.status.grpc], reply.problem)
        return render_response(component, reply.body)

    def _reply(self, component: str, metadata: Iterable[tuple[str, str]]) -> Reply:
        question = _question(component, metadata)
        if question is None:
            problem = "expected metadata with one authorization"
            return Reply(status=Status.UNAUTHENTICATED, problem=problem)
        return self.pointers.answer(question, self.now())


def _question(component: str, metadata: Iterable[tuple[str, str]]) -> Question | None:
    """Return the question, or None without exactly one proof. Raises InputError."""
    sent = [(key, value) for key, value in metadata if key in _UNDERSTOOD]
    proofs = [value for key, value in sent if key == "authorization"]
    if len(proofs) != 1 or not proofs[0]:
        return None
    others = {key: value for key, value in sent if key != "authorization"}
    for key, value in sent:
        if key in others and (len(value) > LONGEST_NAME or others[key] != value):
            raise InputError(f"expected one text of at most {LONGEST_NAME} characters", field=key)
    version = others.get("fairlead-version", "")
    return Question(
        component=OUR_COMPONENT if version else component,
        proof=proofs[0],
        machine=others.get("fairlead-machine", ""),
        version=version,
        wants_update=bool(version),
    )
