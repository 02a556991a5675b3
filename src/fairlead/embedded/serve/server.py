"""
Two servers in one event loop: the payload service over TLS, and commands on a Unix socket.

The address of the payload service is kept: machines that were given it boot with it, also after
the control plane was killed and started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from fairlead.embedded.whole_file import write_whole

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from fairlead.embedded.serve.certificates import Certificates

# Seconds until connections that do not end are cut when the control plane stops.
FAREWELL_S = 2

# Seconds between two looks at whether a server accepts; uvicorn offers nothing to wait for.
LOOK_S = 0.005

LOOPBACK = "127.0.0.1"
BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound socket and the address that machines know it by."""

    socket: socket.socket
    address: str


def listen(port_file: Path) -> Listener:
    """Return a socket on the port of this file, or on a free one that the file then names."""
    known = int(port_file.read_text()) if port_file.exists() else 0
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, known))
    except OSError:
        bound.bind((LOOPBACK, 0))  # somebody else took it; user data is refreshed with another
    port = bound.getsockname()[1]
    if port != known:
        write_whole(port_file, f"{port}\n".encode())
    return Listener(bound, f"https://{LOOPBACK}:{port}")


class QuietServer(uvicorn.Server):
    """A server that leaves signals to the process it is part of."""

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


def make_server(app: Starlette, certificates: Certificates | None = None) -> QuietServer:
    """Return a server of this app, over TLS if there are certificates."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        http="h11",
        ws="none",
        backlog=BACKLOG,
        timeout_graceful_shutdown=FAREWELL_S,
        ssl_certfile=str(certificates.certificate_file) if certificates else None,
        ssl_keyfile=str(certificates.key_file) if certificates else None,
    )
    return QuietServer(config)
