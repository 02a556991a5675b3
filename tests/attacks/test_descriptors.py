"""A thousand idle connections, from anybody on this computer, end nothing and keep nobody out."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane
from fairlead.embedded.serve.unix_socket import connect

CONNECTIONS = 1100
DESCRIPTORS = 1024


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """This process holds the other ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_files(plane: RunningPlane) -> int:
    return len(list(Path(f"/proc/{plane.pid}/fd").iterdir()))


def test_idle_connections_end_no_control_plane_and_keep_no_machine_out(
    tmp_path: Path, many_descriptors: None
) -> None:
    with RunningPlane(tmp_path / "state", descriptors=DESCRIPTORS) as plane, ExitStack() as stack:
        plane.settled()
        process = plane.pid
        port = int(plane.ask("/v1/health")["payload_endpoint"].rpartition(":")[2])
        for _ in range(CONNECTIONS):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 10))
        for _ in range(200):
            stack.enter_context(connect(plane.directory.socket))
        most = 0
        end = time.monotonic() + 3
        while time.monotonic() < end:
            most = max(most, open_files(plane))
            time.sleep(0.1)

        plane.run("pool", "scale", "workers", "5")
        assert plane.settled()["total"] == 5

        assert plane.pid == process
        assert most <= DESCRIPTORS - 256, "a reserve for our own files stays"
        assert [one["problem"] for one in plane.ask("/v1/machines")["machines"]] == [""] * 5
        stack.close()
        plane.run("pool", "scale", "workers", "6")
        assert plane.settled()["total"] == 6
        assert "Too many open files" not in plane.log()
