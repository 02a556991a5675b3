"""An app on a real uvicorn, in a thread of its own, and calls into that thread."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fairlead.embedded.access.guard import WithPeer

T = TypeVar("T")


class PeerProtocol(H11Protocol):
    """A connection on a Unix socket, whose requests say whose they are."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app = WithPeer(self.app, transport.get_extra_info("socket"))


class ServedApp:
    """One running server. What the app touches belongs to its thread: use `call`."""

    def __init__(self, server: uvicorn.Server, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self._loop = loop

    def call(self, work: Callable[[], T]) -> T:
        """Run something on the server's thread."""

        async def on_thread() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(on_thread(), self._loop).result(30)


class _Thread:
    """Serves until it is told to stop; keeps what went wrong at the start."""

    def __init__(
        self, make: Callable[[], Any], bound: socket.socket, tls: ssl.SSLContext | None
    ) -> None:
        self.make, self.bound, self.tls = make, bound, tls
        self.is_ready = threading.Event()
        self.app: ServedApp | None = None
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        try:
            asyncio.run(self.serve())
        except BaseException as error:
            self.failure = error
            self.is_ready.set()
            raise

    async def serve(self) -> None:
        config = uvicorn.Config(
            self.make(),
            log_level="critical",
            access_log=False,
            lifespan="off",
            http=PeerProtocol if self.bound.family == socket.AF_UNIX else "auto",
            timeout_keep_alive=2,
        )
        config.load()
        config.ssl = self.tls
        server = uvicorn.Server(config)
        self.app = ServedApp(server, asyncio.get_running_loop())
        serving = asyncio.ensure_future(server.serve(sockets=[self.bound]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)  # uvicorn offers nothing to wait for
        self.is_ready.set()
        await serving


@contextmanager
def served_app(
    make: Callable[[], Any], bound: socket.socket, tls: ssl.SSLContext | None = None
) -> Iterator[ServedApp]:
    """Serve what `make` returns, which runs on the server's thread, on a bound socket."""
    running = _Thread(make, bound, tls)
    running.thread.start()
    try:
        assert running.is_ready.wait(30)
        if running.failure:
            raise running.failure
        assert running.app is not None
        yield running.app
    finally:
        if running.app is not None:
            running.app.server.should_exit = True
        running.thread.join(30)
        bound.close()
        assert not running.thread.is_alive()
