"""An app at a port of its own: its certificate, its limits, and its end."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.embedded.certificates.authority import Certificates
from fairlead.embedded.serve.door import PAYLOADS, Door, fitted, raise_descriptor_limit
from fairlead.embedded.serve.log import Log
from fairlead.embedded.serve.reloading import LOOK_S, Reloading
from fairlead.embedded.serve.server import make_server
from fairlead.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

LAST_PORT = 65535

# Where a service that listens everywhere reaches itself.
OWN = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where an app is served, by which flag, and the PEM files of its certificate."""

    flag: str
    address: tuple[str, int]
    certificate: Path
    key: Path


class ServedApp:
    """Serves an app over TLS until it is closed. Raises InputError if the port is taken."""

    def __init__(self, app: ASGIApp, listening: Listening, log: Log) -> None:
        bound = bound_to(listening.flag, listening.address)
        # Where it reaches itself.
        self.own: tuple[str, int] = (
            OWN.get(listening.address[0], listening.address[0]),
            bound.getsockname()[1],
        )
        door = Door(bound, fitted(PAYLOADS, raise_descriptor_limit()))
        certificates = Certificates(
            ca_pem="", certificate_file=listening.certificate, key_file=listening.key
        )
        self._server = make_server(app, door, certificates)
        self._reloading = Reloading(self._server, certificates, log)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to serve, in this event loop."""
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._server.serve([self._server.door])),
            loop.create_task(self._look()),
        ]

    async def close(self) -> None:
        """Let answers under way end."""
        self._server.should_exit = True
        for task in self._tasks:
            await task

    async def _look(self) -> None:
        while not self._server.should_exit:
            self._reloading.look()
            await asyncio.sleep(LOOK_S)


def listening_of(
    flags: tuple[str, str, str], listen: str, certificate: Path | None, key: Path | None
) -> Listening:
    """Return what was asked for; flags: what each is called. Raises InputError."""
    if certificate is None or key is None:
        raise InputError(
            f"{flags[0]} needs {flags[1]} and {flags[2]}",
            hint="machines send their tokens there: it is never served without TLS",
        )
    return Listening(
        flag=flags[0], address=address_of(flags[0], listen), certificate=certificate, key=key
    )


def address_of(flag: str, text: str) -> tuple[str, int]:
    """Return host and port of a flag's value. Raises InputError."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > LAST_PORT:
        raise InputError(f"found {flag} {text!r}, expected HOST:PORT")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - as was asked


def cannot_listen(flag: str, address: tuple[str, int], error: OSError) -> InputError:
    """Return the error of a port that is taken, or that is none of this computer."""
    host, port = address
    # A name that is none has no errno, and create_server writes the address into its own text.
    why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    return InputError(f"cannot listen at {host}:{port}: {why}", field=flag)


def bound_to(flag: str, address: tuple[str, int]) -> socket.socket:
    """Return a socket at the address of a flag. Raises InputError."""
    try:
        return socket.create_server(address)
    except OSError as error:
        raise cannot_listen(flag, address, error) from error
