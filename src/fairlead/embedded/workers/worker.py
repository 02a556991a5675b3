"""One worker of a hotfix service: an event loop, its door, and the depot behind it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairlead.embedded.certificates.authority import Certificates
from fairlead.embedded.hotfix.served_depot import ServedDepot, present
from fairlead.embedded.serve.door import PAYLOADS, Door, fitted, raise_descriptor_limit
from fairlead.embedded.serve.log import Log
from fairlead.embedded.serve.reloading import Reloading
from fairlead.embedded.serve.server import make_server

TICK_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What a worker serves with: PEM files. parent: the process that looks after it."""

    certificate: Path
    key: Path
    parent: int

    def certificates(self) -> Certificates:
        """Return what a server is made with."""
        return Certificates(ca_pem="", certificate_file=self.certificate, key_file=self.key)


# Makes what is served, in the worker; and beside HTTPS another wire, which it returns the end of.
MakeDepot = Callable[[Log, bool], ServedDepot]
Beside = Callable[[ServedDepot], Callable[[], None]]


def run_worker(
    number: int,
    bound: socket.socket,
    listening: Listening,
    make: MakeDepot,
    beside: Beside | None = None,
) -> int:
    """Serve until SIGTERM; return an exit code."""
    log = Log()
    served = make(log, number == 0)
    end_beside = beside(served) if beside is not None else None
    try:
        asyncio.run(_serve(bound, listening, served, log))
    finally:
        if end_beside is not None:
            end_beside()
        served.close()
    return 0


async def _serve(bound: socket.socket, listening: Listening, served: ServedDepot, log: Log) -> None:
    door = Door(bound, fitted(PAYLOADS, raise_descriptor_limit()))
    certificates = listening.certificates()
    server = make_server(served.app, door, certificates)
    is_stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, is_stopping.set)
    loop.set_exception_handler(
        lambda _, context: log.trouble("event loop", str(context.get("message", "failed")))
    )
    serving = loop.create_task(server.serve([door]))
    reloading = Reloading(server, certificates, log)
    while not is_stopping.is_set() and not serving.done() and os.getppid() == listening.parent:
        served.tick(present())
        reloading.look()
        try:
            await asyncio.wait_for(is_stopping.wait(), TICK_S)
        except TimeoutError:
            continue
    server.should_exit = True
    await serving
    await served.rest()
