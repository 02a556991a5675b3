"""
Work that goes on elsewhere, as those see it who wait for it and those who do it.

It tells lines into a pipe, and its process never returns.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import posix as os

# What ends or stops a process from a terminal or from a unit: who ends work waits for another word.
UNHEARD = (1, 2, 3, 15)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    # Sends one line, without its end.
    Tell = Callable[[bytes], None]
    Work = Callable[[Tell], None]

    class Apart(Protocol):
        """Work that goes on elsewhere."""

        def next_line(self, until_ns: int) -> bytes | None:
            """Return what it tells next; None if nothing by then (monotonic), or nothing more."""

        def why_given_up(self) -> str:
            """Return what was wrong where nothing more is waited for before its time, or ''."""

        def end(self) -> int:
            """End it and all that it started; return how many processes could not be ended."""


def hear_nobody() -> None:
    """Let no signal end or stop this process that is meant for the agent or for its work."""
    for number in UNHEARD:
        _signal.signal(number, _signal.SIG_IGN)


def work_and_exit(work: Work, writing: int) -> None:
    """Never returns: this process has a copy of everything that its parent still has to do."""
    code = 1
    try:
        work(lambda line: _write_all(writing, line + b"\n"))
        code = 0
    finally:
        os._exit(code)  # noqa: SLF001 - the one way out of a fork


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
