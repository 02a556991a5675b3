"""
One connection of a machine or a command, between its door and the app that answers.

The door hears who asked and who was answered. What is written in one go leaves in one packet.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from fairlead.embedded.access.guard import WithPeer
from fairlead.embedded.serve.door import Door
from fairlead.embedded.serve.plain_request import plain_answer, read_plain_request


class DoorProtocol(H11Protocol):
    """
    One connection.

    reads_plain: the first request is the last, so a plain one needs no general parser.
    knows_peer: it is a Unix socket, and every request says whose.
    """

    reads_plain = False
    knows_peer = False
    _is_first = True
    _is_taken = False

    @property
    def door(self) -> Door:
        """The door that it came in by."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to serve a connection."""
        super().connection_made(GatheringTransport(transport, self.loop))
        if self.knows_peer:
            self.app = WithPeer(self.app, transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Take what came; after a plain request nothing more is wanted."""
        self.door.took += len(data)
        if self._is_taken:
            return
        scope = read_plain_request(data) if self.reads_plain and self._is_first else None
        self._is_first = False
        if scope is None:
            super().data_received(data)
            return
        self._is_taken = True
        self._mark(has_asked=True)
        scope |= {"server": self.server, "client": self.client, "state": {}}
        task = self.loop.create_task(self._answer_plain(scope))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    async def _answer_plain(self, scope: dict[str, Any]) -> None:
        messages: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            messages.append(message)

        try:
            await self.app(scope, _receive_nothing, send)
            self.transport.write(plain_answer(messages, self.server_state.default_headers))
        finally:
            self.transport.close()

    def handle_events(self) -> None:
        """Go on with what came, and note a request that is whole."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.more_body:
            self._mark(has_asked=not self.cycle.response_complete)

    def on_response_complete(self) -> None:
        """Note that the answer is written."""
        self._mark(has_asked=False)
        super().on_response_complete()

    def _mark(self, *, has_asked: bool) -> None:
        taken = self.transport.get_extra_info("socket")
        connection = self.door.find(taken.fileno()) if taken is not None else None
        if connection is not None and connection.has_asked is not has_asked:
            connection.mark(has_asked=has_asked)


async def _receive_nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


class GatheringTransport(asyncio.Transport):
    """A transport that sends at once what is written in one go: one record, one packet."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._inner = inner
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: Any) -> None:
        """Send this, with what else is written before the loop goes on."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(bytes(data))

    def _flush(self) -> None:
        data, self._parts = b"".join(self._parts), []
        if data and not self._inner.is_closing():
            self._inner.write(data)

    def close(self) -> None:
        """Close it once everything is sent."""
        self._flush()
        self._inner.close()

    def is_closing(self) -> bool:
        """Say whether it is closed, or about to be."""
        return self._inner.is_closing()

    def abort(self) -> None:
        """Close it at once."""
        self._inner.abort()

    def pause_reading(self) -> None:
        """Take nothing more from the other side."""
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        """Go on with taking."""
        self._inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the connection."""
        return self._inner.get_extra_info(name, default)
