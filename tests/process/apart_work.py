"""
Work in a process of its own that does not want to end, as a real process.

    python apart_work.py WORK SECONDS [USER [seen]]

As another user it may not be looked into, as the kernel has it for who gave up being root, unless
it is to be seen. Prints what the work told, how many processes could not be ended, how long all of
it took, how many children are left, and if it was given up before its time, why.
"""

import ctypes
import os
import resource  # noqa: F401 - loaded while it may still be read: a clone may be root's alone
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fairlead.agent.hotfix.apart  # noqa: F401
import fairlead.agent.hotfix.descendants
import fairlead.agent.hotfix.kept  # noqa: F401
from fairlead.agent.host import RealHost

Tell = Callable[[bytes], None]

# What a bomb of these tests never exceeds, whatever fails.
MOST_STARTS = 900
LONGEST_S = 5.0
# The number that the kernel gives to this question: prctl(2).
SET_DUMPABLE = 4

# More than an attempt may have, of processes that only sleep.
CROWD = 200


def leave_session(tell: Tell) -> None:
    subprocess.Popen(["setsid", "sleep", "1000"])
    tell(b"started")
    time.sleep(1000)


def fork_twice(tell: Tell) -> None:
    # The one in the middle ends, so that nobody's child is left.
    subprocess.run(["sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1000' & "], check=True)
    tell(b"started")
    time.sleep(1000)


def ignore_signals(tell: Tell) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    subprocess.Popen(["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1; done"])
    tell(b"started")
    time.sleep(1000)


def stand_still(tell: Tell) -> None:
    stopped = subprocess.Popen(["sleep", "1000"])
    stopped.send_signal(signal.SIGSTOP)
    tell(b"started")
    os.kill(os.getpid(), signal.SIGSTOP)


def multiply(tell: Tell) -> None:
    _go_off(tell, lambda: time.sleep(0.2))


def bomb(tell: Tell) -> None:
    _go_off(tell, os.setsid)


def _go_off(tell: Tell, in_each: Callable[[], object]) -> None:
    """
    Start as many processes as can be, within bounds of its own: a failing test takes no machine.

    Each start takes one of so many bytes out of a pipe, and all of them end when the time is over.
    """
    taking, giving = os.pipe()
    os.write(giving, b"x" * MOST_STARTS)
    os.set_blocking(taking, False)
    end = time.monotonic() + LONGEST_S
    tell(b"started")
    while time.monotonic() < end:
        try:
            os.read(taking, 1)
            if os.fork() == 0:
                in_each()
        except BlockingIOError:
            time.sleep(0.01)  # no start is left, or the kernel refuses one more
    os._exit(0)


def crowd(tell: Tell) -> None:
    tell(b"started")
    for _ in range(CROWD):
        if os.fork() == 0:
            os.setsid()
            time.sleep(LONGEST_S)
            os._exit(0)
    time.sleep(1000)


def flee(tell: Tell) -> None:
    """One process at a time, which is another one before anybody has looked at it."""
    end = time.monotonic() + LONGEST_S
    if os.fork() == 0:
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.001)
    tell(b"started")
    time.sleep(1000)


def end_and_leave_a_daemon(tell: Tell) -> None:
    subprocess.Popen(["setsid", "sleep", "1000"])
    tell(b"started")


def talk_without_end(tell: Tell) -> None:
    tell(b"started")
    tell(b"x" * 1_000_000)


WORKS = {
    work.__name__: work
    for work in (
        leave_session, fork_twice, ignore_signals, stand_still, multiply, bomb, crowd, flee,
        end_and_leave_a_daemon, talk_without_end,
    )
}  # fmt: skip


def main() -> None:
    work, seconds = sys.argv[1], float(sys.argv[2])
    if len(sys.argv) > 3:
        os.setgroups([])
        os.setgid(int(sys.argv[3]))
        os.setuid(int(sys.argv[3]))
    if sys.argv[4:] == ["seen"]:
        ctypes.CDLL(None).prctl(SET_DUMPABLE, 1, 0, 0, 0)
    began = time.monotonic()
    until_ns = time.monotonic_ns() + int(seconds * 1e9)
    apart = RealHost().start_apart(WORKS[work])
    first = apart.next_line(until_ns)
    second = apart.next_line(until_ns)
    left = apart.end()
    took = time.monotonic() - began
    told = f"{first!r} {second!r} {left} {took:.3f} {count_children()}"
    sys.stdout.write(f"{told} {apart.why_given_up()}".rstrip() + "\n")


def count_children() -> int:
    return len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


if __name__ == "__main__":
    main()
