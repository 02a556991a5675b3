"""
Asking systemd on its own socket.

recorded_boots/bookworm-bus.bin.gz holds what systemd 252 answered on a booting node.
"""

import gzip
import socket
import threading
from pathlib import Path

import pytest

from fairlead.agent.host import RealHost
from fairlead.agent.report.datapoints import UNITS, boot_fact_of, read_boot_stamps
from fairlead.agent.report.systemd_bus import SOCKET, ask_systemd, unit_object
from fairlead.sim.host import SimHost
from unit.agent.test_datapoints import make_machine

ANSWERED = gzip.decompress(
    (Path(__file__).parent / "recorded_boots" / "bookworm-bus.bin.gz").read_bytes()
)
GREETING = b"\0AUTH EXTERNAL 30\r\nBEGIN\r\n"


def machine_that_answers(answered: bytes) -> SimHost:
    host = make_machine()
    host.sleep(3 * 3600.0)
    host.listeners[SOCKET] = lambda _: answered
    return host


def test_stamps_come_from_the_socket_and_no_program_is_started() -> None:
    host = machine_that_answers(ANSWERED)

    stamps = read_boot_stamps(host)

    assert host.started == []
    assert stamps.manager["UserspaceTimestampMonotonic"] == "11829539415"
    assert stamps.manager["KernelTimestamp"] == ""
    assert stamps.units["cloud-init-local.service"]["ActiveState"] == "active"
    assert stamps.units["kubelet.service"]["InactiveExitTimestampMonotonic"] == ""
    assert set(stamps.units) == set(UNITS)
    assert boot_fact_of(stamps)["systemd"] == {
        "generators": [13.3, 75.0],
        "load-units": [75.0, 111.7],
    }


@pytest.mark.parametrize("cut", [0, 1, 20, 39, 40, 100, 4096, len(ANSWERED) - 1])
def test_an_answer_that_is_cut_counts_as_none_and_systemctl_is_asked(cut: int) -> None:
    host = machine_that_answers(ANSWERED[:cut])

    stamps = read_boot_stamps(host)

    assert [command[0] for command in host.started] == ["systemctl", "systemctl"]
    assert stamps.manager["UserspaceTimestampMonotonic"] == "3657058605"


@pytest.mark.parametrize(
    "garbage",
    [
        b"REJECTED\r\n",
        b"OK x\r\n" + b"\xff" * 5000,
        b"OK x\r\n" + b"\0" * 5000,
        ANSWERED.replace(b"\1t\0", b"\1v\0"),
    ],
    ids=["refused", "ones", "zeros", "other types"],
)
def test_garbage_on_the_socket_costs_no_boot(garbage: bytes) -> None:
    stamps = read_boot_stamps(machine_that_answers(garbage))

    assert isinstance(boot_fact_of(stamps), dict)


def test_a_socket_that_hangs_is_not_asked_a_second_time_by_systemctl() -> None:
    host = make_machine()

    def hang(_: bytes) -> bytes:
        raise TimeoutError("timed out")

    host.listeners[SOCKET] = hang

    assert boot_fact_of(read_boot_stamps(host)) == {}
    assert host.started == []


def test_units_are_objects_by_their_escaped_names() -> None:
    assert (
        unit_object("cloud-init.service") == "/org/freedesktop/systemd1/unit/cloud_2dinit_2eservice"
    )


def test_a_question_is_a_message_as_the_specification_has_it() -> None:
    host = SimHost()
    said = []

    def listen(text: bytes) -> bytes:
        said.append(text)
        return b"OK x\r\n"

    host.listeners[SOCKET] = listen
    with pytest.raises(OSError, match="answered 0 of 1 questions"):
        ask_systemd(host, [("/o", "i.i", "P")], deadline_s=1.0)

    fields = (
        b"\1\1o\0\2\0\0\0/o\0\0\0\0\0\0"
        b"\2\1s\0\x1f\0\0\0org.freedesktop.DBus.Properties\0"
        b"\3\1s\0\3\0\0\0Get\0\0\0\0\0"
        b"\6\1s\0\x18\0\0\0org.freedesktop.systemd1\0\0\0\0\0\0\0\0"
        b"\x08\1g\0\2ss\0"
    )
    body = b"\3\0\0\0i.i\0\1\0\0\0P\0"
    head = b"l\1\0\1\x0e\0\0\0\1\0\0\0\x78\0\0\0"
    assert said == [GREETING + head + fields + body]


def test_a_conversation_ends_when_the_answer_is_whole_or_the_other_side_leaves(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def answer() -> None:
            for parts in ((b"one ", b"two"), (b"one",), ()):
                connection, _ = server.accept()
                with connection:
                    connection.recv(64)
                    for part in parts:
                        connection.sendall(part)
                    if not parts:
                        connection.recv(64)

        thread = threading.Thread(target=answer)
        thread.start()
        host = RealHost()
        said = [
            host.converse(path, b"?", lambda heard: heard.endswith(b"two"), deadline_s=5.0)
            for _ in range(2)
        ]
        with pytest.raises(TimeoutError):
            host.converse(path, b"?", bool, deadline_s=0.1)
        thread.join()

    assert said == [b"one two", b"one"]
    with pytest.raises(OSError, match="No such file"):
        host.converse(str(tmp_path / "none"), b"?", bool, deadline_s=1.0)
