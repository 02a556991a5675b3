"""`fairlead hotfix serve`: the service alone, with several workers."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path

from fairlead.cli.commands.hotfix.verifiers import add_verifiers, verifiers_of
from fairlead.cli.depot_flags import add_depot_command, depot_of
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.cli.flags import Commands
    from fairlead.embedded.hotfix.served_depot import ServedDepot
    from fairlead.embedded.serve.log import Log
    from fairlead.embedded.workers.worker import Beside
    from fairlead.hotfix.publish.depot import Depot

EXAMPLE = """\
example: bare metal, whose machines were given tokens that this key signed
  fairlead hotfix serve --join-key join.key --tls-cert server.pem --tls-key server.pem
example: a lab that believes every machine's name, at a port of this computer
  fairlead hotfix serve --insecure-lab --tls-cert server.pem --tls-key server.pem

It answers GET /v1/hotfix, takes POST /v1/hotfix-report, and serves the signed files below /depot/.
Without a way to verify who asks it does not start. Signed metadata is renewed while it runs. A
worker that dies is replaced; SIGTERM lets answers under way end. A certificate that is renewed in
its file is served from the next connection on. With --cluster-ledger it is a replica of several in
a cluster, as docs/howto/run-on-kubernetes.md installs them: one process, and nothing is signed;
what was published is copied from where its keys are.
"""

DEFAULT_LISTEN = "127.0.0.1:8443"
MOST_WORKERS = 64
HIGHEST_PORT = 65535


def add(commands: Commands) -> None:
    """Add serve to the commands of hotfix."""
    parser = add_depot_command(
        commands, "serve", "answer booting machines, by itself", EXAMPLE, _serve
    )
    parser.add_argument(
        "--listen",
        default=DEFAULT_LISTEN,
        metavar="HOST:PORT",
        help=f"where to listen; port 0 is any (default: {DEFAULT_LISTEN})",
    )
    parser.add_argument("--tls-cert", type=Path, required=True, metavar="FILE", help="PEM chain")
    parser.add_argument("--tls-key", type=Path, required=True, metavar="FILE", help="its PEM key")
    parser.add_argument(
        "--grpc",
        metavar="HOST:PORT",
        help="answer AKS agents here, over gRPC with the same certificate",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help="processes that answer (default: one for each processor)",
    )
    add_verifiers(parser)
    _add_cluster(parser)


def _add_cluster(parser: ArgumentParser) -> None:
    cluster = parser.add_argument_group("as a replica in a cluster")
    cluster.add_argument(
        "--cluster-ledger",
        metavar="NAMESPACE",
        help="count together with all who do so in this namespace, and not in the depot",
    )
    cluster.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="default: the pod's account, or $KUBECONFIG",
    )
    cluster.add_argument("--context", metavar="NAME", help="of the kubeconfig (default: its own)")
    cluster.add_argument("--metrics", metavar="HOST:PORT", help="serve /metrics, /healthz, /readyz")


def _serve(arguments: Namespace) -> int:
    return _serve_replica(arguments) if arguments.cluster_ledger else _serve_alone(arguments)


def _serve_replica(arguments: Namespace) -> int:
    from fairlead.cli.commands.kube.needed import refuse_without_lightkube

    refuse_without_lightkube("--cluster-ledger")
    depot = depot_of(arguments)
    if any(depot.keys.glob("*")):
        raise InputError(
            f"{depot.keys} has keys, which never enter a cluster",
            field="--depot",
            hint="copy the depot without its folder keys",
        )
    _refuse_unusable(arguments, depot)
    beside = _grpc(arguments)
    from fairlead.cli.commands.kube.hotfix_here import run_replica

    return run_replica(
        arguments, depot, lambda spent: verifiers_of(arguments, depot, spent), beside
    )


def _serve_alone(arguments: Namespace) -> int:
    from fairlead.cli.clock import present
    from fairlead.cli.output import stamp_lines
    from fairlead.decision.explain import moment
    from fairlead.embedded.hotfix.served_depot import ServedDepot
    from fairlead.embedded.serve.log import Log
    from fairlead.embedded.workers.parent import Workers, bind_all
    from fairlead.embedded.workers.worker import Listening, run_worker

    depot = depot_of(arguments)
    _refuse_unusable(arguments, depot)
    beside = _grpc(arguments)
    host, port = address_of(arguments.listen)
    sockets = bind_all(host, port, workers_of(arguments.workers))
    listening = Listening(certificate=arguments.tls_cert, key=arguments.tls_key, parent=os.getpid())

    def make(log: Log, leads: bool) -> ServedDepot:  # noqa: FBT001
        verifiers = verifiers_of(arguments, depot)
        return ServedDepot(depot, verifiers, log, leads=leads)

    stamp_lines(lambda: f"{moment(present())} ")
    log = Log()
    if arguments.insecure_lab:
        log.tell("--insecure-lab: whoever asks is believed; not for machines that matter")
    port = sockets[0].getsockname()[1]
    workers = Workers(
        sockets, lambda number, bound: run_worker(number, bound, listening, make, beside), log.tell
    )
    code = workers.run(
        lambda: log.tell(f"serving {depot.directory} at https://{host}:{port}/v1/hotfix")
    )
    log.tell("stopped")
    sys.stderr.flush()
    return code


def _refuse_unusable(arguments: Namespace, depot: Depot) -> None:
    """Raise InputError for what no worker could serve: told once, and by none of them."""
    if arguments.kubeconfig or arguments.context or arguments.metrics:
        _refuse_without_ledger(arguments)
    depot.read_signed()
    depot.read_catalog()
    verifiers_of(arguments, depot)
    refuse_bad_pair(arguments.tls_cert, arguments.tls_key)


def _refuse_without_ledger(arguments: Namespace) -> None:
    if not arguments.cluster_ledger:
        raise InputError(
            "--kubeconfig, --context and --metrics are for a replica in a cluster",
            hint="say --cluster-ledger NAMESPACE as well",
        )


def _grpc(arguments: Namespace) -> Beside | None:
    """Return what starts the gRPC wire in a worker, or None. Raises InputError without grpcio."""
    if not arguments.grpc:
        return None
    address_of(arguments.grpc)
    if find_spec("grpc") is None:
        hint = "pip install 'fairlead[grpc]'"
        raise InputError("the package grpcio is not installed", field="--grpc", hint=hint)

    def start(served: ServedDepot) -> Callable[[], None]:
        # In the worker: gRPC's threads do not outlive a fork.
        from fairlead.embedded.hotfix.served_depot import present
        from fairlead.hotfix.service.grpc_certificate import CertificatePair
        from fairlead.hotfix.service.grpc_server import GrpcSettings, serve_grpc

        pair = CertificatePair(arguments.tls_cert, arguments.tls_key)
        settings = GrpcSettings(shares_port=True)
        return serve_grpc(served.pointers, arguments.grpc, pair, present, settings).stop

    return start


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT, [::1]:PORT included. Raises InputError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdigit() and int(port) <= HIGHEST_PORT
    if not colon or not host or not is_port:
        raise InputError(
            f"found {text!a}, expected HOST:PORT like {DEFAULT_LISTEN}", field="--listen"
        )
    return host, int(port)


def workers_of(wanted: int) -> int:
    """Return how many workers there are to be. Raises InputError."""
    if wanted == 0:
        return min(os.cpu_count() or 1, MOST_WORKERS)
    if not 0 < wanted <= MOST_WORKERS:
        raise InputError(f"found {wanted}, expected 1 to {MOST_WORKERS}", field="--workers")
    return wanted


def refuse_bad_pair(certificate: Path, key: Path) -> None:
    """Raise InputError unless these files are a certificate and its key."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        says = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"{certificate} and {key} are no certificate with its key: {says}",
            field="--tls-cert",
        ) from error
