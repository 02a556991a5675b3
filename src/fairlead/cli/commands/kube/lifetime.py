"""How a process of a cluster says that it lives, and learns that it is to end."""

from __future__ import annotations

import asyncio
import signal

from fairlead.cli.commands.kube.served_app import address_of, cannot_listen
from fairlead.kube.serve.health import Health, HealthServer

METRICS_FLAG = "--metrics"


def told_to_stop() -> asyncio.Event:
    """Return what is set by SIGTERM or SIGINT from here on, in this event loop."""
    is_over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, is_over.set)
    return is_over


def health_at(address: str | None, health: Health) -> HealthServer | None:
    """Return who answers probes and Prometheus, if anybody is to. Raises InputError."""
    if not address:
        return None
    host, port = address_of(METRICS_FLAG, address)
    try:
        return HealthServer(host, port, health)
    except OSError as error:
        raise cannot_listen(METRICS_FLAG, (host, port), error) from error
