"""The operator in this process, until it is told to stop."""

from __future__ import annotations

import asyncio
import secrets
import socket
from argparse import Namespace

from fairlead.cli.clock import present
from fairlead.cli.commands.kube.flags import follows
from fairlead.cli.commands.kube.lifetime import health_at, told_to_stop
from fairlead.cli.commands.kube.payload_address import PayloadAddress, follow_address
from fairlead.cli.commands.kube.payload_server import PayloadServer
from fairlead.cli.commands.kube.served_app import listening_of
from fairlead.cli.output import stamp_lines
from fairlead.decision.explain import moment
from fairlead.embedded.serve.log import Log
from fairlead.hotfix.published_fixes import PublishedFixes
from fairlead.kube.client import connect
from fairlead.kube.operator import Operator, Settings
from fairlead.kube.serve.health import Health, server_problem
from fairlead.kube.serve.metrics import OperatorMetrics

DEFAULT_NAMESPACE = "fairlead-system"
PAYLOAD_FLAGS = ("--payload-listen", "--payload-certificate", "--payload-key")


def run_operator(arguments: Namespace) -> int:
    """Run until SIGTERM or SIGINT; then end the passes under way and hand over."""
    stamp_lines(lambda: f"{moment(present())} ")
    return asyncio.run(_serve(arguments))


async def _serve(arguments: Namespace) -> int:
    log = Log()
    client = connect(arguments.kubeconfig, arguments.context)
    address = PayloadAddress(arguments.payload_address, arguments.payload_ca)
    settings = Settings(
        namespace=arguments.namespace or client.namespace or DEFAULT_NAMESPACE,
        identity=arguments.identity or f"{socket.gethostname()}-{secrets.token_hex(4)}",
        stub=address.read(),
        workers=arguments.workers,
        pools_in=tuple(arguments.pools_in),
        in_place_image=arguments.in_place_image,
        published=_published(arguments),
    )
    operator = Operator(client, settings, log.tell)
    server = _payload_server(arguments, operator, log)
    health = health_at(arguments.metrics, _health(operator, server))
    is_over = told_to_stop()
    try:
        await asyncio.to_thread(operator.start)
        followed = follows(client.server, settings.pools_in)
        log.tell(f"{settings.identity} follows {followed} from {settings.namespace}")
        if server is not None:
            server.start()
        await follow_address(address, operator, log, is_over)
        log.tell("ends the passes under way and hands over")
        if server is not None:
            await server.close()
    finally:
        await asyncio.to_thread(operator.stop)
        if health is not None:
            health.close()
        client.close()
    return 0


def _payload_server(arguments: Namespace, operator: Operator, log: Log) -> PayloadServer | None:
    if not arguments.payload_listen:
        return None
    listening = listening_of(
        PAYLOAD_FLAGS,
        arguments.payload_listen,
        arguments.payload_certificate,
        arguments.payload_key,
    )
    return PayloadServer(operator.world, listening, log)


def _health(operator: Operator, server: PayloadServer | None) -> Health:
    def unready() -> str:
        if not operator.is_ready:
            return "the cluster was not listed yet"
        return server_problem(operator.client) or (server.problem() if server else "")

    metrics = OperatorMetrics(operator)
    return Health(
        dead=lambda: "" if operator.lives else "a thread of it has ended",
        unready=unready,
        metrics=lambda: metrics.text(present()),
    )


def _published(arguments: Namespace) -> PublishedFixes | None:
    if arguments.hotfix_depot is None:
        return None
    return PublishedFixes(arguments.hotfix_depot, region=arguments.hotfix_region)
