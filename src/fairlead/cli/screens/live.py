"""
Drawings on a terminal that are replaced in place. Loaded only where somebody looks.

However the looking ends, the terminal is as it was before: by a key, a signal or a defect.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from types import FrameType, TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live

from fairlead.answers.pool import PoolDetail
from fairlead.cli.clock import present
from fairlead.cli.screens.blocks import QUIET, Block, Line, Toned, line
from fairlead.cli.screens.colours import Terminal, text_line
from fairlead.cli.screens.layout import lay_out
from fairlead.cli.screens.rollout import rollout_blocks

# Signals that end a process unless it says otherwise, and would leave the cursor hidden.
ENDING = (signal.SIGTERM, signal.SIGHUP)
LEAVE = b"qQ"
LOCAL_FLAGS = 3  # in what tcgetattr returns


class LiveScreen:
    """
    A drawing that is replaced by the next; the last one stays. hint: what keys do, below it.

    has_keys: whether `q` leaves, as Ctrl-C does; and whether signals end the looking here.
    """

    def __init__(self, *, is_error_stream: bool, hint: str, has_keys: bool = True) -> None:
        self._terminal = Terminal(sys.stderr if is_error_stream else sys.stdout)
        self._live = Live(console=self._terminal, auto_refresh=False, vertical_overflow="crop")
        self._hint = hint
        self._has_keys = has_keys
        self._undo = ExitStack()
        self._shown: list[Line] = []

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            if self._has_keys:
                self._has_keys = _take_keys(undo)
                _end_on_signals(undo)
            undo.callback(self._end)
            self._live.start()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.close()

    def draw(self, blocks: Sequence[Block]) -> None:
        """Replace what is shown, as much of it as there is room for."""
        self._shown = lay_out(blocks, self._terminal.width)
        hint = lay_out([line(Toned(self._hint, QUIET))], self._terminal.width)
        fitting = fit(self._shown, self._terminal.height - len(hint) - 1)
        self._update([*fitting, *hint])

    def rest(self, seconds: float) -> None:
        """Wait until the next look. Raises KeyboardInterrupt if the reader leaves."""
        if not self._has_keys:
            time.sleep(seconds)
            return
        readable, _, _ = select.select([sys.stdin], [], [], seconds)
        if readable:
            key = os.read(sys.stdin.fileno(), 1)
            self._has_keys = bool(key)  # nobody types any more
            if key and key in LEAVE:
                raise KeyboardInterrupt

    def _update(self, lines: Sequence[Line]) -> None:
        self._live.update(Group(*(text_line(one) for one in lines)), refresh=True)

    def _end(self) -> None:
        """Leave the last drawing behind, without what keys do: they no longer do it."""
        with suppress(OSError):
            self._update(fit(self._shown, self._terminal.height - 1))
        self._live.stop()


def fit(lines: Sequence[Line], room: int) -> list[Line]:
    """Return as many lines as there is room for, the last of which says how many more there are."""
    if len(lines) <= room:
        return [*lines]
    kept = max(room - 1, 1)
    return [*lines[:kept], line(Toned(f"and {len(lines) - kept} more lines", QUIET))]


class LiveView(LiveScreen):
    """The progress of rollouts, on stderr."""

    def __init__(self) -> None:
        hint = "q or Ctrl-C: stop looking; the rollout goes on"
        super().__init__(is_error_stream=True, hint=hint)

    def show(self, pools: list[PoolDetail]) -> None:
        """Draw how far the pools are."""
        width, now = self._terminal.width, present()
        self.draw(
            [block for pool in pools for block in rollout_blocks(pool, pool.machines, width, now)]
        )


def _take_keys(undo: ExitStack) -> bool:
    """Let keys arrive one by one and unseen, if this is our terminal to ask; say whether it is."""
    try:
        descriptor = sys.stdin.fileno()
        if os.tcgetpgrp(descriptor) != os.getpgrp():
            return False
        before = termios.tcgetattr(descriptor)
        wanted = termios.tcgetattr(descriptor)
        wanted[LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
        undo.callback(_restore, descriptor, before)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, wanted)
    except (OSError, ValueError, termios.error):
        return False
    return True


def _restore(descriptor: int, before: list[int | list[bytes | int]]) -> None:
    with suppress(termios.error):  # the terminal is gone
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _end_on_signals(undo: ExitStack) -> None:
    """Let signals that would end the process end it in order. Only the first thread may ask."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            undo.callback(signal.signal, number, signal.SIG_DFL)
            signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    del frame
    sys.exit(128 + number)
