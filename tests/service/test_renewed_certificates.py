"""A control plane that runs for years: its certificates change, and no machine notices."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from fairlead.answers.words import Fault
from fairlead.embedded.certificates.authority import make_or_read
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.serve.plane import ControlPlane
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.rollout.secrets import UserData
from pool_documents import pool_document

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME: the control plane's clock is ahead of this test's.
NO_CHECK_TIME = 0x200000

DEADLINE_S = 30.0


class Shed:
    """Machines that take power and never say anything."""

    name = "shed"

    def power_on(self, machine: str, seed: Seed | None, fault: Fault) -> None:
        """Take it."""

    def life_of(self, _machine: str) -> Life:
        return Life.BOOTING

    def last_words(self, _machine: str) -> str:
        return ""

    def destroy(self, machine: str) -> None:
        """Let it go."""

    def list_names(self) -> tuple[str, ...]:
        return ()


class LaterPlane(ControlPlane):
    """A control plane whose clock a test sets forward."""

    ahead = timedelta()

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC) + LaterPlane.ahead


class Running:
    """A control plane in a thread; what it knows is read between its moves."""

    def __init__(self, plane: LaterPlane, loop: asyncio.AbstractEventLoop) -> None:
        self.plane = plane
        self._loop = loop

    def read(self) -> tuple[list[UserData], list[object]]:
        """Return the user data, and everything that a rollout would touch."""

        async def on_thread() -> tuple[list[UserData], list[object]]:
            world = self.plane.world
            template = world.machines.find_template("workers")
            machines = world.machines.list_machines("workers")
            kept = [template, [(one.name, one.revision, one.reason) for one in machines]]
            record = world.pools.find_record("workers")
            target = record.target if record else None
            return list(world.secrets.list_user_data("workers")), [*kept, target]

        return asyncio.run_coroutine_threadsafe(on_thread(), self._loop).result(DEADLINE_S)

    def served(self, ca: str) -> x509.Certificate:
        """Return the certificate that a machine sees that trusts this. Raises SSLError."""
        context = ssl.create_default_context(cadata=ca)
        context.verify_flags = ssl.VerifyFlags(int(context.verify_flags) | NO_CHECK_TIME)
        port = int(self.plane.directory.port.read_text())
        with (
            socket.create_connection(("127.0.0.1", port), 10) as connection,
            context.wrap_socket(connection, server_hostname="127.0.0.1") as secured,
        ):
            return x509.load_der_x509_certificate(secured.getpeercert(binary_form=True) or b"")

    def until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE_S
        while not is_so():
            assert time.monotonic() < end
            time.sleep(0.05)

    def ca(self) -> str:
        ((data,), _) = self.read()
        return data.stub.ca


@contextmanager
def running(path: Path) -> Iterator[Running]:
    directory = StateDirectory(path)
    directory.make()
    (directory.secrets / "registry-login").write_text('{"auths": {}}')
    found: list[Running] = []
    is_ready = threading.Event()

    async def serve() -> None:
        plane = LaterPlane(directory, Shed())
        plane.declare([pool_document()])
        found.append(Running(plane, asyncio.get_running_loop()))
        await plane.run(is_ready.set)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert is_ready.wait(DEADLINE_S)
        found[0].until(lambda: bool(found[0].read()[0]))
        yield found[0]
    finally:
        LaterPlane.ahead = timedelta()
        if found:
            found[0].plane.stop()
        thread.join(DEADLINE_S)
        assert not thread.is_alive()


def make_certificates(path: Path, ago: timedelta) -> None:
    directory = StateDirectory(path)
    Store(directory).close()  # so that the directory is a control plane's
    directory.make()
    make_or_read(directory.certificates, now=datetime.now(UTC) - ago)


def test_a_server_certificate_is_renewed_while_the_control_plane_runs(tmp_path: Path) -> None:
    make_certificates(tmp_path, timedelta(days=334, hours=23))
    with running(tmp_path) as plane:
        ca = plane.ca()
        first = plane.served(ca).serial_number

        LaterPlane.ahead = timedelta(hours=2)

        plane.until(lambda: plane.served(ca).serial_number != first)
        assert plane.ca() == ca


def test_an_authority_is_replaced_and_no_machine_is(tmp_path: Path) -> None:
    make_certificates(tmp_path, timedelta(days=3653 - 401))
    with running(tmp_path) as plane:
        old = plane.ca()
        before = plane.read()[1]

        LaterPlane.ahead = timedelta(days=2)
        plane.until(lambda: plane.ca() != old)
        both = plane.ca()
        assert both.startswith(old)
        assert plane.served(old) == plane.served(both)

        LaterPlane.ahead = timedelta(days=33)
        plane.until(lambda: plane.ca() != both)
        new = plane.ca()
        assert both == old + new
        assert plane.served(both) == plane.served(new)
        with pytest.raises(ssl.SSLCertVerificationError):
            plane.served(old)
        assert plane.read()[1] == before


def test_certificates_that_cannot_be_renewed_are_told_and_the_control_plane_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path) as plane:
        ca = plane.ca()
        file = plane.plane.directory.certificates / "authority.pem"
        kept = file.read_bytes()
        file.write_bytes(b"spoiled")

        LaterPlane.ahead = timedelta(hours=2)

        says = "certificates not renewed, trying again: "
        plane.until(lambda: says in capsys.readouterr().err)
        assert plane.served(ca).issuer
        file.write_bytes(kept)
