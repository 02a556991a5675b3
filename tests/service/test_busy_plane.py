"""A control plane that is busy or stopped: commands say which, soon, and wait for the busy one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.embedded.serve.client import Client, NotRunningError
from fairlead.embedded.serve.unix_socket import bind, connect
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import UnavailableError
from pool_documents import pool_document
from service.cli_plane import Commands, command_plane

LISTENER = """
import socket, sys, time
from pathlib import Path
from fairlead.embedded.serve.unix_socket import bind
bound = bind(Path(sys.argv[1]))
bound.listen()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[tuple[StateDirectory, int]]:
    """A process that listens, accepts nothing, and is stopped."""
    directory = StateDirectory(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(directory.socket)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        yield directory, process.pid
        process.kill()


@pytest.mark.parametrize("size", [0, 8 << 20], ids=["a question", "a large document"])
def test_a_control_plane_that_is_stopped_is_told_within_two_seconds(
    stopped: tuple[StateDirectory, int], size: int
) -> None:
    directory, process = stopped
    begun = time.monotonic()

    with pytest.raises(UnavailableError) as told:
        Client(directory).plan(["x" * size])

    assert time.monotonic() - begun < 2
    assert str(told.value) == (
        f"the control plane is stopped (process {process}); let it go on: kill -CONT {process}"
    )
    assert not isinstance(told.value, NotRunningError)


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as found:
        found.app.call(lambda: found.plane.world.pools.write_pool(pool_document(pullSecret=None)))
        found.settle()
        yield found


def test_a_busy_control_plane_is_told_of_and_waited_for(commands: Commands) -> None:
    busy = threading.Thread(target=lambda: commands.app.call(lambda: time.sleep(3)))
    busy.start()
    time.sleep(0.2)

    said = commands.run("pool", "list", "--json")

    busy.join()
    assert said.code == 0
    assert [pool["name"] for pool in said.fields["pools"]] == ["workers"]
    busy_words = f"the control plane (process {os.getpid()}) is busy; waiting for up to 1"
    assert said.err.startswith(f"fairlead: {busy_words}")
    assert said.err.count("\n") == 1


def test_a_control_plane_that_stays_busy_is_given_up_in_time(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    heard: list[str] = []
    with bind(directory.socket) as bound:
        bound.listen()

        with pytest.raises(UnavailableError, match="did not answer: timed out"):
            Client(directory, 2.6, heard.append).health()

    assert len(heard) == 1


def test_a_full_queue_of_a_busy_control_plane_is_no_missing_one(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    with bind(directory.socket) as bound:
        bound.listen(0)

        with (
            connect(directory.socket),
            pytest.raises(UnavailableError, match="did not answer") as told,
        ):
            Client(directory, 1.0).health()

    assert not isinstance(told.value, NotRunningError)
