"""One suite for every Host: what the agent relies on holds on a real disk and in memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fairlead.agent.files import publish_if_absent, remove_if_present, write_atomically
from fairlead.agent.host import RealHost, is_executable_file, is_regular_file
from fairlead.agent.https_fetch import Request
from fairlead.agent.network.grpc_call import UnaryCall
from fairlead.agent.network.tls_connection import Peer
from fairlead.agent.process import Finished
from fairlead.errors import InputError
from fairlead.sim.disk import Inode
from fairlead.sim.host import SimHost
from process.tls_server import answer, make_pair, serving

if TYPE_CHECKING:
    from fairlead.agent.host import Host


@pytest.fixture(params=["real", "sim"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    found: Host = RealHost(str(tmp_path)) if request.param == "real" else SimHost()
    found.make_directory("/var/lib")
    return found


def test_a_written_file_has_exactly_its_content_and_mode(host: Host) -> None:
    host.write_file("/var/lib/a", b"one", 0o600, sync=True)
    host.write_file("/var/lib/a", b"two", 0o644, sync=False)

    mode = host.file_mode("/var/lib/a")
    assert host.read_file("/var/lib/a") == b"two"
    assert mode is not None
    assert stat.S_IMODE(mode) == 0o644


def test_appending_keeps_what_was_there_and_its_mode(host: Host) -> None:
    host.append_file("/var/lib/log", b"one\n", 0o600, sync=True)
    host.append_file("/var/lib/log", b"two\n", 0o644, sync=False)

    assert host.read_file("/var/lib/log") == b"one\ntwo\n"
    assert stat.S_IMODE(host.file_mode("/var/lib/log") or 0) == 0o600


def test_a_missing_file_is_said_to_be_missing(host: Host) -> None:
    with pytest.raises(FileNotFoundError):
        host.read_file("/var/lib/none")
    with pytest.raises(FileNotFoundError):
        host.remove("/var/lib/none")
    with pytest.raises(FileNotFoundError):
        host.rename("/var/lib/none", "/var/lib/other")
    assert host.file_mode("/var/lib/none") is None


def test_writing_below_a_missing_directory_is_refused(host: Host) -> None:
    with pytest.raises(FileNotFoundError):
        host.write_file("/nowhere/a", b"", 0o600, sync=True)
    with pytest.raises(FileNotFoundError):
        host.append_file("/nowhere/a", b"", 0o600, sync=True)


def test_a_directory_is_not_read_or_written_as_a_file(host: Host) -> None:
    with pytest.raises(IsADirectoryError):
        host.read_file("/var/lib")
    with pytest.raises(IsADirectoryError):
        host.write_file("/var/lib", b"", 0o600, sync=True)
    assert not is_regular_file(host, "/var/lib")


def test_a_rename_replaces_and_a_link_never_does(host: Host) -> None:
    host.write_file("/var/lib/a", b"a", 0o600, sync=True)
    host.write_file("/var/lib/b", b"b", 0o600, sync=True)

    with pytest.raises(FileExistsError):
        host.create_link("/var/lib/a", "/var/lib/b")
    host.rename("/var/lib/a", "/var/lib/b")

    assert host.read_file("/var/lib/b") == b"a"
    assert host.list_directory("/var/lib") == ["b"]


def test_making_a_directory_twice_is_fine_and_over_a_file_is_not(host: Host) -> None:
    host.make_directory("/etc/fairlead/deep")
    host.make_directory("/etc/fairlead/deep")
    host.write_file("/etc/fairlead/file", b"", 0o600, sync=True)

    with pytest.raises(OSError, match="file"):
        host.make_directory("/etc/fairlead/file")
    assert host.list_directory("/etc/fairlead") == ["deep", "file"]


def test_only_a_plain_file_with_an_execute_bit_is_executable(host: Host) -> None:
    host.write_file("/var/lib/program", b"", 0o755, sync=True)
    host.write_file("/var/lib/text", b"", 0o644, sync=True)

    assert is_executable_file(host, "/var/lib/program")
    assert not is_executable_file(host, "/var/lib/text")
    assert not is_executable_file(host, "/var/lib")
    assert not is_executable_file(host, "/var/lib/none")


def test_publishing_never_replaces_and_leaves_no_temporary_file(host: Host) -> None:
    assert publish_if_absent(host, "/var/lib/new/status", b"first", 0o600)
    assert not publish_if_absent(host, "/var/lib/new/status", b"second", 0o600)
    write_atomically(host, "/var/lib/new/other", b"other", 0o644)

    assert host.read_file("/var/lib/new/status") == b"first"
    assert host.list_directory("/var/lib/new") == ["other", "status"]
    assert remove_if_present(host, "/var/lib/new/other")
    assert not remove_if_present(host, "/var/lib/new/other")


def test_a_program_that_is_not_installed_cannot_be_started(host: Host) -> None:
    with pytest.raises(FileNotFoundError):
        host.run(["/nonexistent/program"])


def test_a_variable_that_no_process_can_carry_is_refused(host: Host) -> None:
    if isinstance(host, SimHost):
        host.programs["/bin/true"] = lambda *_: Finished(0, b"")

    with pytest.raises(ValueError, match="null byte"):
        host.run(["/bin/true"], environment={"A": "a\0b"})
    with pytest.raises(OSError, match="Argument list too long"):
        host.run(["/bin/true"], environment={"A": "a" * 128 * 1024})
    assert host.run(["/bin/true"], environment={"A": "é" * 60000}).exit_code == 0


def test_where_nobody_listens_nothing_answers(host: Host) -> None:
    assert not host.can_connect("/run/nobody.sock")
    with pytest.raises(FileNotFoundError):
        host.converse("/run/nobody.sock", b"?", bool, deadline_s=1.0)
    with pytest.raises(ConnectionRefusedError):
        host.fetch_status("http://127.0.0.1:1/healthz")
    with pytest.raises((OSError, InputError)):
        host.fetch(Request("https://127.0.0.1:1/node", "no certificate", "t"), deadline_s=1.0)
    with pytest.raises((OSError, InputError)):
        host.call(UnaryCall(Peer("127.0.0.1", 1, "no certificate"), "/a/b", {}, b""), deadline_s=1)


@pytest.mark.parametrize("body", [None, b'{"a": 1}'])
def test_a_request_reaches_its_server_whole_and_its_answer_comes_back(
    host: Host, body: bytes | None, tmp_path: Path
) -> None:
    make_pair(tmp_path, "good", "IP:127.0.0.1")
    ca = (tmp_path / "good-ca.pem").read_text()
    seen: list[tuple[bytes, bytes | None]] = []

    def keep_request(_host: SimHost, asked: Request) -> tuple[int, bytes]:
        seen.append((asked.machine.encode(), asked.body))
        return 202, b"taken"

    with serving(tmp_path, answer(202, b"taken")) as server:
        request = Request(server.endpoint, ca, "t", "node-1", body)
        if isinstance(host, SimHost):
            host.servers[server.endpoint] = keep_request

        assert host.fetch(request, deadline_s=10.0) == (202, b"taken")

        for header, _, sent in (text.partition(b"\r\n\r\n") for text in server.requests):
            name = header.partition(b"Fairlead-Machine: ")[2].partition(b"\r\n")[0]
            seen.append((name, sent if header.startswith(b"POST ") else None))
    assert seen == [(b"node-1", body)]


def test_time_never_goes_back(host: Host) -> None:
    instants = [host.monotonic_ns() for _ in range(5)]

    assert instants == sorted(instants)


def test_a_pipe_is_neither_read_nor_written_nor_waited_for(host: Host, tmp_path: Path) -> None:
    make_pipe(host, tmp_path, "/var/lib/pipe")

    with pytest.raises(OSError, match="Not a plain file"):
        host.read_file("/var/lib/pipe")
    for write in (host.write_file, host.append_file):
        # Without a reader the kernel itself refuses to open it for writing.
        with pytest.raises(OSError, match=r"Not a plain file|No such device or address"):
            write("/var/lib/pipe", b"text", 0o600, sync=False)
    assert not is_regular_file(host, "/var/lib/pipe")


def test_a_file_above_the_limit_is_refused(host: Host) -> None:
    host.write_file("/var/lib/limit", b"x" * (16 << 20), 0o600, sync=False)
    host.write_file("/var/lib/above", b"x" * ((16 << 20) + 1), 0o600, sync=False)

    assert len(host.read_file("/var/lib/limit")) == 16 << 20
    with pytest.raises(OSError, match="Larger than 16 MiB"):
        host.read_file("/var/lib/above")


def make_pipe(host: Host, tmp_path: Path, path: str) -> None:
    if isinstance(host, SimHost):
        host.disk.bind(path, Inode(stat.S_IFIFO | 0o600))
    else:
        os.mkfifo(tmp_path / path.lstrip("/"))
