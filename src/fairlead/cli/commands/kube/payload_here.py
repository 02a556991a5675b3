"""The payload service of a cluster in this process, until it is told to stop."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from fairlead.cli.clock import present
from fairlead.cli.commands.kube.flags import follows
from fairlead.cli.commands.kube.lifetime import health_at, told_to_stop
from fairlead.cli.commands.kube.payload_server import PayloadServer
from fairlead.cli.commands.kube.served_app import listening_of
from fairlead.cli.output import stamp_lines
from fairlead.decision.explain import moment
from fairlead.embedded.serve.log import Log
from fairlead.errors import FairleadError
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.client import connect
from fairlead.kube.serve.health import Health, server_problem
from fairlead.kube.serve.kept_reports import KeptReports
from fairlead.kube.serve.metric_text import Metric, Sample, gauge, render_metrics
from fairlead.kube.world import PayloadWorld, within

# Seconds between two looks for reports that a replica of an earlier release kept.
BRING_OVER_S = 600.0

FLAGS = ("--listen", "--certificate", "--key")


def run_payload(arguments: Namespace) -> int:
    """Run until SIGTERM or SIGINT; then let answers under way end."""
    stamp_lines(lambda: f"{moment(present())} ")
    return asyncio.run(_serve(arguments))


async def _serve(arguments: Namespace) -> int:
    log = Log()
    listening = listening_of(FLAGS, arguments.listen, arguments.certificate, arguments.key)
    client = connect(arguments.kubeconfig, arguments.context)
    copied = within(PayloadWorld.copied, arguments.pools_in, "")
    world = PayloadWorld(client, "", Stub(), lambda _: None, log.tell, copied)
    server = PayloadServer(world, listening, log)
    health = health_at(arguments.metrics, _health(world, server))
    is_over = told_to_stop()
    try:
        await asyncio.to_thread(world.copies.start)
        server.start()
        log.tell(f"serves machines of {follows(client.server, arguments.pools_in)}")
        bringing = asyncio.create_task(_bring_over(server.reports, log))
        await is_over.wait()
        log.tell("lets answers under way end")
        bringing.cancel()
        await server.close()
    finally:
        await asyncio.to_thread(world.copies.stop)
        world.workloads.close()
        if health is not None:
            health.close()
        client.close()
    return 0


async def _bring_over(reports: KeptReports, log: Log) -> None:
    """Keep reports of earlier releases where people read them, also those that come meanwhile."""
    while True:
        try:
            brought = await asyncio.to_thread(reports.bring_over)
        except FairleadError as error:
            log.trouble("boot reports", f"{error}; tried again")
        else:
            log.is_well("boot reports")
            if brought:
                log.tell(f"boot reports of an earlier release that people can read now: {brought}")
        await asyncio.sleep(BRING_OVER_S)


def _health(world: PayloadWorld, server: PayloadServer) -> Health:
    def unready() -> str:
        if not world.copies.is_synced:
            return "the cluster was not listed yet"
        return server_problem(world.copies.client) or server.problem()

    return Health(
        dead=lambda: "" if world.copies.lives else "it follows the cluster no more",
        unready=unready,
        metrics=lambda: render_metrics(payload_metrics(server)),
    )


def payload_metrics(server: PayloadServer) -> tuple[Metric, ...]:
    """Return what a payload service counts."""
    answered = tuple(
        Sample(count, {"status": str(status)})
        for status, count in sorted(server.answered.copy().items())
    )
    return (
        Metric("payload_answers_total", "counter", "Answers by status.", answered),
        gauge("payload_requests", "Requests that are being answered.", server.threads.under_way),
    )
