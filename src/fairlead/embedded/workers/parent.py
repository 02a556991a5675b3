"""
Several processes that serve one address, and the one that looks after them.

Each has a socket of its own on the shared port, so that the kernel spreads connections evenly. The
sockets are the parent's: what waits at one whose worker died is served by the next worker, which
takes over the same socket. A worker whose parent is gone ends by itself.
"""

from __future__ import annotations

import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.errors import FairleadError, InputError
from fairlead.telling.errno_text import problem_text

# Seconds. A worker that ends sooner is broken from the start, and not started again at once.
SHORT_LIFE_S = 1.0
FAREWELL_S = 5.0
LOOK_S = 0.5

BACKLOG = 1024

SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)

# What a worker does with its socket: number, socket -> exit code.
Work = Callable[[int, socket.socket], int]


def bind_all(host: str, port: int, count: int) -> list[socket.socket]:
    """Return sockets that share one address; port 0 is any. Raises InputError."""
    bound: list[socket.socket] = []
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        for _ in range(count):
            # With its protocol: asyncio sends without delay only where the socket says TCP.
            one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            bound.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind((host, port or bound[0].getsockname()[1]))
            one.listen(BACKLOG)
    except OSError as error:
        for one in bound:
            one.close()
        raise InputError(
            f"cannot listen at {host}:{port}: {error.strerror}", field="--listen"
        ) from error
    return bound


@dataclass(slots=True)
class _Worker:
    number: int
    process: int
    started_at: float


@dataclass(slots=True)
class Workers:
    """As many workers as sockets. tell: told of every one that ended by itself."""

    sockets: list[socket.socket]
    work: Work
    tell: Callable[[str], None]
    _living: dict[int, _Worker] = field(default_factory=dict)
    _waiting: dict[int, float] = field(default_factory=dict)
    _is_stopping: bool = False

    def run(self, when_started: Callable[[], None] = lambda: None) -> int:
        """Serve until SIGTERM or SIGINT; return an exit code. Blocks these signals meanwhile."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            for number in range(len(self.sockets)):
                self._start(number)
            when_started()
            while not self._is_stopping:
                self._look(signal.sigtimedwait(SIGNALS, LOOK_S))
            return self._stop()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _look(self, got: signal.struct_siginfo | None) -> None:
        if got is not None and got.si_signo in (signal.SIGTERM, signal.SIGINT):
            self._is_stopping = True
            return
        self._reap()
        now = time.monotonic()
        for number in [number for number, at in self._waiting.items() if at <= now]:
            del self._waiting[number]
            self._start(number)

    def _start(self, number: int) -> None:
        process = os.fork()
        if process:
            self._living[process] = _Worker(number, process, time.monotonic())
            return
        code = 1
        try:
            for signal_number in SIGNALS:
                signal.signal(signal_number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            code = self.work(number, self.sockets[number])
        except (FairleadError, OSError) as error:
            self.tell(f"worker {number} cannot serve: {problem_text(error)}")
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            # Nothing of the parent's is flushed or cleaned up twice.
            os._exit(code)

    def _reap(self) -> None:
        while self._living:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            worker = self._living.pop(process, None)
            if worker is None:
                continue
            is_short = time.monotonic() - worker.started_at < SHORT_LIFE_S
            self._waiting[worker.number] = time.monotonic() + (SHORT_LIFE_S if is_short else 0.0)
            if not self._is_stopping:
                self.tell(f"worker {worker.number} {_ended(status)}; another takes its place")

    def _stop(self) -> int:
        """End all workers in order; return 0 if they did."""
        for process in self._living:
            os.kill(process, signal.SIGTERM)
        end = time.monotonic() + FAREWELL_S
        while self._living and time.monotonic() < end:
            signal.sigtimedwait(SIGNALS, LOOK_S)
            self._reap()
        left = list(self._living)
        for process in left:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        for one in self.sockets:
            one.close()
        return 1 if left else 0


def _ended(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
