"""The runtime extension of Cluster API in this process, until it is told to stop."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from fairlead.cli.clock import present
from fairlead.cli.commands.kube.lifetime import health_at, told_to_stop
from fairlead.cli.commands.kube.served_app import ServedApp, listening_of
from fairlead.cli.output import stamp_lines
from fairlead.decision.explain import moment
from fairlead.embedded.serve.log import Log
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.extension.answers import Answers
from fairlead.kube.extension.app import ExtensionApp
from fairlead.kube.extension.updates import Updates
from fairlead.kube.serve.health import Health, server_problem
from fairlead.kube.serve.metric_text import Metric, Sample, render_metrics
from fairlead.kube.serve.own_question import problem_of_extension
from fairlead.kube.serve.threads import Threads

FLAGS = ("--listen", "--certificate", "--key")


def run_extension(arguments: Namespace) -> int:
    """Run until SIGTERM or SIGINT; then let answers under way end."""
    stamp_lines(lambda: f"{moment(present())} ")
    return asyncio.run(_serve(arguments))


async def _serve(arguments: Namespace) -> int:
    log = Log()
    listening = listening_of(FLAGS, arguments.listen, arguments.certificate, arguments.key)
    client = connect(arguments.kubeconfig, arguments.context)
    threads = Threads()
    updates = Updates(client, log.tell, present)
    answers = Answers(updates, lambda error: log.tell(f"a request: {error!r}"))
    app = ExtensionApp(answers, threads)
    served = ServedApp(app, listening, log)
    health = health_at(arguments.metrics, _health(client, served, app))
    is_over = told_to_stop()
    try:
        served.start()
        log.tell(f"answers the Cluster API of {client.server}")
        await is_over.wait()
        log.tell("lets answers under way end")
        await served.close()
        await asyncio.to_thread(threads.close)
    finally:
        if health is not None:
            health.close()
        client.close()
    return 0


def _health(client: KubeClient, served: ServedApp, app: ExtensionApp) -> Health:
    return Health(
        dead=lambda: "",
        unready=lambda: server_problem(client) or problem_of_extension(*served.own),
        metrics=lambda: render_metrics((_answers(app),)),
    )


def _answers(app: ExtensionApp) -> Metric:
    samples = tuple(
        Sample(count, {"hook": hook, "status": status})
        for (hook, status), count in sorted(app.answered.copy().items())
    )
    return Metric("extension_answers_total", "counter", "Answers by hook and status.", samples)
