"""The door of both servers: real sockets, real TLS, and whoever means to hold it."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.embedded.certificates.authority import Certificates, make_or_read
from fairlead.embedded.serve.door import COMMANDS, PAYLOADS, Door, Limits, fitted
from fairlead.embedded.serve.give_back import CROWD
from fairlead.embedded.serve.server import QuietServer, listen, make_server

SMALL = Limits(most=8, most_of_one=6, ask_s=1.0, answer_s=1.0)
ASK = b"GET /short HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def short(request: Request) -> Response:
    return Response(await request.body() or b"hello")


async def long(_: Request) -> Response:
    return Response(b"x" * (32 << 20))


class Served:
    """A server behind a door, in a thread of its own."""

    def __init__(self, directory: Path, limits: Limits, certificates: Certificates | None) -> None:
        self.certificates = certificates
        self.listener = listen(directory / "port", limits)
        self.port = int(self.listener.address.rpartition(":")[2])
        self.is_ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        routes = [
            Route("/short", short, methods=["GET", "POST"]),
            Route("/long", long),
        ]
        self.loop = asyncio.get_running_loop()
        self.server: QuietServer = make_server(
            Starlette(routes=routes), self.listener.socket, self.certificates
        )
        serving = asyncio.ensure_future(self.server.serve([self.listener.socket]))
        await self.server.is_ready()
        self.is_ready.set()
        await serving

    def connect(self, address: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 5, (address, 0))

    def secured(self, address: str = "127.0.0.1") -> ssl.SSLSocket:
        assert self.certificates is not None
        context = ssl.create_default_context(cadata=self.certificates.ca_pem)
        return context.wrap_socket(self.connect(address), server_hostname="127.0.0.1")

    def ask(self, address: str = "127.0.0.1") -> bytes:
        with self.secured(address) as connection:
            connection.sendall(ASK)
            return read_all(connection)

    @property
    def open(self) -> int:
        return len(self.listener.socket._open)


def read_all(connection: socket.socket) -> bytes:
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


def is_closed(connection: socket.socket) -> bool:
    """Say whether the other side ended this connection, without waiting."""
    connection.settimeout(0)
    try:
        return connection.recv(1) == b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


def wait_until(look: Callable[[], Any], deadline_s: float = 10) -> None:
    end = time.monotonic() + deadline_s
    while not look():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_or_read(tmp_path_factory.mktemp("certificates"))


@contextmanager
def serving(directory: Path, limits: Limits, certificates: Certificates | None) -> Iterator[Served]:
    served = Served(directory, limits, certificates)
    served.thread.start()
    try:
        assert served.is_ready.wait(10)
        yield served
    finally:
        served.server.should_exit = True
        served.thread.join(10)
        served.listener.socket.close()
        assert not served.thread.is_alive()


@pytest.fixture
def small(tmp_path: Path, certificates: Certificates) -> Iterator[Served]:
    with serving(tmp_path, SMALL, certificates) as served:
        yield served


def test_the_first_who_has_not_asked_makes_room_for_the_next(small: Served) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(small.connect()) for _ in range(6)]
        wait_until(lambda: small.open == 6)

        assert small.ask().endswith(b"hello")

        wait_until(lambda: is_closed(idle[0]))
        assert [is_closed(one) for one in idle] == [True] + [False] * 5


def test_one_address_does_not_take_the_room_of_another(small: Served) -> None:
    with ExitStack() as stack:
        mine = [stack.enter_context(small.secured("127.0.0.2")) for _ in range(2)]
        for _ in range(30):
            stack.enter_context(small.connect("127.0.0.3"))
        wait_until(lambda: small.open == 8)

        assert [is_closed(one) for one in mine] == [False, False]
        mine[0].settimeout(5)
        mine[0].sendall(ASK)
        assert read_all(mine[0]).endswith(b"hello")


def test_thousands_at_once_never_hold_more_than_they_may(tmp_path: Path) -> None:
    limits = replace(SMALL, most=16, most_of_one=16, ask_s=30)
    highest = 0
    with serving(tmp_path, limits, None) as served, ExitStack() as stack:
        for _ in range(1500):
            stack.enter_context(closing(served.connect()))
            highest = max(highest, served.open)
        wait_until(lambda: served.open == 16)

    assert highest <= 18


PHASES: dict[str, Callable[[Served], socket.socket]] = {}


def phase(make: Callable[[Served], socket.socket]) -> None:
    PHASES[make.__name__.replace("_", " ")] = make


@phase
def before_the_hand_shake(served: Served) -> socket.socket:
    return served.connect()


@phase
def in_the_hand_shake(served: Served) -> socket.socket:
    connection = served.connect()
    connection.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a hello
    return connection


@phase
def before_the_request(served: Served) -> socket.socket:
    return served.secured()


@phase
def in_the_headers(served: Served) -> socket.socket:
    connection = served.secured()
    connection.sendall(b"GET /short HTTP/1.1\r\nHost: x\r\n")
    return connection


@phase
def in_the_body(served: Served) -> socket.socket:
    connection = served.secured()
    connection.sendall(b"POST /short HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
    return connection


@phase
def in_the_answer(served: Served) -> socket.socket:
    connection = served.secured()
    connection.sendall(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
    return connection


@pytest.mark.parametrize("make", PHASES.values(), ids=PHASES)
def test_whoever_stops_there_is_sent_away(
    small: Served, make: Callable[[Served], socket.socket]
) -> None:
    with make(small):
        wait_until(lambda: small.open == 1)

        wait_until(lambda: small.open == 0, 20)

    assert small.ask().endswith(b"hello")


def test_whoever_trickles_is_sent_away_too(small: Served) -> None:
    with small.secured() as connection:
        connection.sendall(b"GET /short HTTP/1.1\r\n")
        begun = time.monotonic()
        with suppress(OSError):
            while time.monotonic() < begun + 6:
                connection.sendall(b"X-A: b\r\n")
                time.sleep(0.1)

    assert time.monotonic() - begun < 5


def test_time_in_which_nobody_was_served_does_not_count(
    tmp_path: Path, certificates: Certificates
) -> None:
    limits = replace(SMALL, ask_s=2.5)
    with serving(tmp_path, limits, certificates) as served, served.secured() as connection:
        served.loop.call_soon_threadsafe(time.sleep, 4)  # a plan for a fleet
        time.sleep(4.3)
        connection.settimeout(5)
        connection.sendall(ASK)

        assert read_all(connection).endswith(b"hello")


def test_an_answer_leaves_without_delay(small: Served) -> None:
    with small.connect():
        wait_until(lambda: small.open == 1)
        (taken,) = small.listener.socket._open
        # What asyncio looks at before it sets the option.
        assert taken.proto == socket.IPPROTO_TCP
        wait_until(lambda: taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1)


def test_a_request_in_pieces_gets_the_same_answer(small: Served) -> None:
    with small.secured() as connection:
        for part in (ASK[:20], ASK[20:50], ASK[50:]):
            connection.sendall(part)
            time.sleep(0.05)
        in_pieces = read_all(connection)

    assert in_pieces.startswith(b"HTTP/1.1 200")
    assert {line.lower() for line in in_pieces.splitlines() if not line.startswith(b"date")} == {
        line.lower() for line in small.ask().splitlines() if not line.startswith(b"date")
    }


def test_memory_of_a_crowd_is_given_back(tmp_path: Path, certificates: Certificates) -> None:
    with serving(tmp_path, PAYLOADS, certificates) as served:
        for _ in range(2):
            with ExitStack() as stack:
                for _ in range(CROWD):
                    stack.enter_context(served.connect())
                wait_until(lambda: served.open == CROWD)
            wait_until(lambda: served.open == 0)
            wait_until(lambda: served.listener.socket.gone == 0)
        gc.disable()  # nothing of it is left for a later collection
        try:
            left = [one for one in gc.get_objects() if isinstance(one, SSLProtocol)]
        finally:
            gc.enable()

    assert left == []


def test_a_closed_door_leaves_nothing_open(tmp_path: Path) -> None:
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(tmp_path / "s"))
    door = Door(bound, COMMANDS)

    door.close()

    assert bound.fileno() == -1
    assert door.fileno() == -1


@pytest.mark.parametrize("descriptors", [64, 256, 600, 1024, 4096])
def test_a_reserve_of_descriptors_is_left_for_our_own_files(descriptors: int) -> None:
    doors = [fitted(limits, descriptors) for limits in (PAYLOADS, COMMANDS)]

    assert descriptors - sum(limits.most_open for limits in doors) >= min(256, descriptors // 2 - 8)
    assert all(limits.most_of_one <= limits.most for limits in doors)
