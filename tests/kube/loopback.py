"""
This machine's loopback, carried into the network namespace of a node.

A node reaches at its own 127.0.0.1 what listens at ours, at the ports that are named and at no
other: neither of the two networks gets an interface or a route for it.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kube.cluster import LOOPBACK

NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000
CHUNK = 1 << 16

# Seconds in which what was begun before the end is seen.
SETTLE_S = 0.1


@contextlib.contextmanager
def carried_loopback(namespace: str, ports: tuple[int, ...]) -> Iterator[None]:
    """Carry connections to these ports, for as long as the block runs."""
    listeners = _listen_in(namespace, ports)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_serve, args=(loop, listeners), name=namespace, daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def _listen_in(namespace: str, ports: tuple[int, ...]) -> list[socket.socket]:
    """Sockets stay in the namespace of the thread that made them; the thread ends at once."""
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def make() -> None:
        try:
            _enter(namespace)
            made.extend(socket.create_server((LOOPBACK, port)) for port in ports)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    for error in failed:
        raise error
    return made


def _enter(namespace: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    opened = os.open(NAMESPACES / namespace, os.O_RDONLY)
    try:
        if libc.setns(opened, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), namespace)
    finally:
        os.close(opened)


def _serve(loop: asyncio.AbstractEventLoop, listeners: list[socket.socket]) -> None:
    asyncio.set_event_loop(loop)
    servers = [
        loop.run_until_complete(
            asyncio.start_server(partial(_carry, one.getsockname()[1]), sock=one)
        )
        for one in listeners
    ]
    loop.run_forever()
    for server in servers:
        server.close()
    # A connection that was taken a moment ago becomes a task only now, or a little later; and what
    # was closed takes as long to let go of its sockets.
    loop.run_until_complete(asyncio.sleep(SETTLE_S))
    while under_way := asyncio.all_tasks(loop):
        for task in under_way:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*under_way, return_exceptions=True))
        loop.run_until_complete(asyncio.sleep(SETTLE_S))
    loop.close()


async def _carry(port: int, theirs: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.CancelledError):  # an end like any other
        ours, there = await asyncio.open_connection(LOOPBACK, port)
        try:
            await asyncio.gather(_pass_on(theirs, there), _pass_on(ours, back))
        finally:
            there.close()
    back.close()


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await source.read(CHUNK):
        sink.write(chunk)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()
