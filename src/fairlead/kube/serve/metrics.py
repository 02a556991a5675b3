"""
What an operator counts, in the text format of Prometheus.

Pools are counted from their own status, so every replica tells the same of them.
"""

from __future__ import annotations

from datetime import datetime

from fairlead.kube.operator import BOUNDS_S, Counted, Operator
from fairlead.kube.resource import NODE_POOLS
from fairlead.kube.serve.metric_text import Metric, Sample, counter, gauge, render_metrics
from fairlead.kube.serve.pool_metrics import ToldPools, pool_metrics


class OperatorMetrics:
    """The metrics of one operator."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._pools = ToldPools()

    def text(self, now: datetime) -> str:
        """Return all of them at this moment."""
        operator = self._operator
        pools = operator.world.copies.list_packed(NODE_POOLS) if operator.is_ready else []
        told = pool_metrics(self._pools.read(pools), now)
        return render_metrics((*_own(operator), *told, _fixes(operator)))


def _own(operator: Operator) -> tuple[Metric, ...]:
    counted = operator.counted
    return (
        gauge("leader", "1 while this process acts.", operator.elector.is_leader),
        gauge("queue_depth", "Pools that are due.", operator.queue.depth),
        counter("passes_total", "Passes over a pool.", counted.passes),
        counter("pass_failures_total", "Passes that failed.", counted.failures),
        counter(
            "pass_conflicts_total", "Passes that somebody else was faster than.", counted.conflicts
        ),
        pass_seconds(counted),
        counter(
            "token_rotations_total",
            "Tokens of pairs that were replaced by their next.",
            operator.world.secrets.rotations,
        ),
        counter(
            "events_dropped_total",
            "Events that could not be copied into the cluster.",
            operator.events.dropped,
        ),
    )


def _fixes(operator: Operator) -> Metric:
    samples = []
    for version, reach in (operator.hotfixes.reach if operator.hotfixes else {}).items():
        samples.append(Sample(reach.have, {"version": version, "fixed": "yes"}))
        samples.append(Sample(reach.lack, {"version": version, "fixed": "no"}))
    says = "Machines of a fix's image base that booted with it, and without."
    return Metric("fix_machines", "gauge", says, tuple(samples))


def pass_seconds(counted: Counted) -> Metric:
    """Return how long passes took, as a histogram."""
    passes, seconds, quicker = counted.durations()
    buckets = [
        Sample(count, {"le": f"{bound:g}"}, "_bucket")
        for bound, count in zip(BOUNDS_S, quicker, strict=True)
    ]
    samples = (
        *buckets,
        Sample(passes, {"le": "+Inf"}, "_bucket"),
        Sample(seconds, part="_sum"),
        Sample(passes, part="_count"),
    )
    return Metric("pass_seconds", "histogram", "How long passes took.", samples)
