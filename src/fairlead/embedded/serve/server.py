"""
Two servers in one event loop: the payload service over TLS, and commands on a Unix socket.

The address of the payload service is kept: machines that were given it boot with it, also after
the control plane was killed and started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from fairlead.embedded.serve.door import PAYLOADS, SWEEP_S, Door, Limits
from fairlead.embedded.serve.give_back import give_back
from fairlead.embedded.serve.protocol import DoorProtocol
from fairlead.whole_file import write_whole

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from fairlead.embedded.certificates.authority import Certificates

# Seconds until connections that do not end are cut when the control plane stops.
FAREWELL_S = 2

# Seconds between two looks at whether a server accepts; uvicorn offers nothing to wait for.
LOOK_S = 0.005

TLS_RECORD = 16 * 1024

LOOPBACK = "127.0.0.1"
BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound socket and the address that machines know it by."""

    socket: Door
    address: str


def listen(port_file: Path, limits: Limits = PAYLOADS) -> Listener:
    """Return a socket on the port of this file, or on a free one that the file then names."""
    known = int(port_file.read_text()) if port_file.exists() else 0
    # With its protocol: asyncio sends without delay only where the socket says that it is TCP.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, known))
    except OSError:
        bound.bind((LOOPBACK, 0))  # somebody else took it; user data is refreshed with another
    port = bound.getsockname()[1]
    if port != known:
        write_whole(port_file, f"{port}\n".encode())
    return Listener(Door(bound, limits), f"https://{LOOPBACK}:{port}")


class QuietServer(uvicorn.Server):
    """A server that leaves signals to the process it is part of, and sweeps its door."""

    def __init__(self, config: uvicorn.Config, door: Door) -> None:
        super().__init__(config)
        self.door = door
        self._sweep_at = 0.0

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def load_certificate(self, certificates: Certificates) -> None:
        """Serve with this certificate from the next connection on. Raises OSError."""
        if self.config.ssl is not None:
            self.config.ssl.load_cert_chain(certificates.certificate_file, certificates.key_file)

    async def is_ready(self) -> None:
        """Wait until it accepts connections."""
        while not self.started:
            await asyncio.sleep(LOOK_S)

    async def on_tick(self, counter: int) -> bool:
        """Send away who stays too long, besides what a server does."""
        now = asyncio.get_running_loop().time()
        if now >= self._sweep_at:
            self._sweep_at = now + SWEEP_S
            self.door.sweep()
            # While they still come, the next ones use what these leave.
            if self.door.is_worth_a_look and not self.server_state.connections:
                self.door.gone = self.door.took = 0
                give_back()
        return await super().on_tick(counter)


def make_server(app: ASGIApp, door: Door, certificates: Certificates | None = None) -> QuietServer:
    """Return a server of this app behind a door, over TLS if there are certificates."""

    class Protocol(DoorProtocol):
        """What serves the connections of this door."""

        reads_plain = certificates is not None
        knows_peer = certificates is None

        @property
        def door(self) -> Door:
            return door

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        lifespan="off",
        server_header=False,
        http=Protocol,
        ws="none",
        backlog=BACKLOG,
        timeout_graceful_shutdown=FAREWELL_S,
        ssl_certfile=str(certificates.certificate_file) if certificates else None,
        ssl_keyfile=str(certificates.key_file) if certificates else None,
        ssl_context_factory=_make_context if certificates else None,
    )
    return QuietServer(config, door)


def _make_context(_: uvicorn.Config, make: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    context = make()
    # A machine asks once and resumes nothing. One ticket stays: it tells a client that holds back
    # its request until it hears something (Nagle) that the hand-shake is over, 40 ms earlier.
    context.num_tickets = 1
    # What asyncio sets aside for each connection from its first moment, so for idle ones, too: a
    # quarter of a megabyte. A record of TLS has 16 KiB at most.
    SSLProtocol.max_size = TLS_RECORD
    return context
