"""A replica of the hotfix service of a cluster in this process, until it is told to stop."""

from __future__ import annotations

import os
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Sequence

from fairlead.cli.clock import present
from fairlead.cli.commands.kube.lifetime import health_at
from fairlead.cli.commands.kube.served_app import address_of
from fairlead.cli.output import stamp_lines
from fairlead.decision.explain import moment
from fairlead.embedded.hotfix.served_depot import Kept, ServedDepot
from fairlead.embedded.serve.log import Log
from fairlead.embedded.workers.parent import bind_all
from fairlead.embedded.workers.worker import Beside, Listening, run_worker
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.service.attestation.join import SpentTokens
from fairlead.hotfix.service.attestation.verifier import AttestationVerifier
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.ledger.kube_ledger import KubeLedger
from fairlead.kube.ledger.spent import SpentInCluster
from fairlead.kube.serve.health import Health, server_problem
from fairlead.kube.serve.metric_text import Metric, Sample, gauge, render_metrics
from fairlead.kube.serve.threads import Threads

# Who is believed, by what counts uses of tokens.
Who = Callable[[SpentTokens], Sequence[AttestationVerifier]]

# Questions at once: each may wait for a write that it shares with others.
AT_ONCE = 64


class Replica:
    """What one process serves, and what it says of itself. beside: the other wire, if any."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        depot: Depot,
        who: Who,
        beside: Beside | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._depot = depot
        self._who = who
        self._beside = beside
        self.ledger = KubeLedger(client, namespace)
        self.threads = Threads(AT_ONCE)
        self._served: ServedDepot | None = None
        self._is_complete = False

    def make(self, log: Log, _: bool) -> ServedDepot:  # noqa: FBT001
        """Return what is served."""
        verifiers = self._who(SpentInCluster(self._client, self._namespace))
        kept = Kept(ledger=self.ledger, aside=self.threads, signs=False)
        self._served = ServedDepot(self._depot, verifiers, log, kept=kept)
        return self._served

    def begin_beside(self, served: ServedDepot) -> Callable[[], None]:
        """Begin with the other wire; whoever is ready answers over both. Return the end of it."""
        end = self._beside(served) if self._beside is not None else lambda: None
        self._is_complete = True
        return end

    def health(self) -> Health:
        """Return what probes and Prometheus are answered. Whether it lives its own port says."""
        return Health(dead=lambda: "", unready=self._unready, metrics=self._metrics)

    def _unready(self) -> str:
        if not self._is_complete:
            return "it does not serve yet"
        return server_problem(self._client) or self.ledger.problem()

    def _metrics(self) -> str:
        refused: Counter[str] = Counter()
        if self._served is not None:
            for (status, _), count in self._served.pointers.proofs.refused.copy().items():
                refused[status] += count
        samples = tuple(Sample(refused[one], {"status": one}) for one in sorted(refused))
        return render_metrics(
            (
                Metric("hotfix_refusals_total", "counter", "Refusals by status.", samples),
                gauge("hotfix_requests", "Requests being answered.", self.threads.under_way),
            )
        )


def run_replica(arguments: Namespace, depot: Depot, who: Who, beside: Beside | None) -> int:
    """Serve until SIGTERM or SIGINT; then let answers under way end."""
    stamp_lines(lambda: f"{moment(present())} ")
    host, port = address_of("--listen", arguments.listen)
    client = connect(arguments.kubeconfig, arguments.context)
    replica = Replica(client, arguments.cluster_ledger, depot, who, beside)
    (bound,) = bind_all(host, port, 1)
    log = Log()
    health = None
    try:
        health = health_at(arguments.metrics, replica.health())
        log.tell(f"serving {depot.directory}, counting in {arguments.cluster_ledger}")
        listening = Listening(
            certificate=arguments.tls_cert, key=arguments.tls_key, parent=os.getppid()
        )
        code = run_worker(0, bound, listening, replica.make, replica.begin_beside)
    finally:
        replica.threads.close()
        if health is not None:
            health.close()
        client.close()
    log.tell("stopped")
    return code
