"""
Following rollouts until they are complete. Looking changes nothing: Ctrl-C ends the look only.

A bar on a terminal; where nobody looks, one line whenever something changed.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from types import TracebackType
from typing import Protocol

from fairlead.answers.pool import PoolDetail
from fairlead.answers.words import ChangeClass
from fairlead.cli.failure import print_error
from fairlead.cli.main import INTERRUPTED
from fairlead.cli.request import plane_of
from fairlead.cli.screens.show import is_terminal
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answering.questions import Questions

LOOK_S = 0.2


class View(Protocol):
    """Where progress is shown: a screen that is drawn again, or lines."""

    def __enter__(self) -> View:
        """Begin to show."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the last drawing behind."""

    def show(self, pools: list[PoolDetail]) -> None:
        """Show how far the pools are."""

    def rest(self, seconds: float) -> None:
        """Wait until the next look. Raises KeyboardInterrupt if the reader leaves."""


class Lines:
    """One line per pool on stderr, whenever it would say something else."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def show(self, pools: list[PoolDetail]) -> None:
        """Write what changed."""
        from fairlead.cli.screens.rollout import progress_line

        for pool in pools:
            text = progress_line(pool, pool.machines)
            if self._told.get(pool.name) != text:
                sys.stderr.write(text + "\n")
                sys.stderr.flush()
                self._told[pool.name] = text

    def rest(self, seconds: float) -> None:
        """Wait until the next look."""
        time.sleep(seconds)


def follow(arguments: Namespace, names: list[str]) -> int:
    """Show the pools until all are complete; return the exit code."""
    client = plane_of(arguments)
    end = time.monotonic() + arguments.timeout if arguments.timeout is not None else None
    pools: list[PoolDetail] = []
    try:
        with make_view() as view:
            while True:
                pools = _look(client, names, pools)
                names = [pool.name for pool in pools]
                view.show(pools)
                if all(pool.verdict.is_complete or pool.verdict.needs for pool in pools):
                    break
                if end is not None and time.monotonic() > end:
                    raise UnavailableError("not complete yet; the rollout goes on")
                view.rest(LOOK_S)
    except KeyboardInterrupt:
        watch = f"fairlead rollout watch {names[0]}" if names else "fairlead rollout status"
        print_error(f"no longer following; the rollout goes on: {watch}")
        return INTERRUPTED
    return _concluded(pools)


def _look(client: Questions, names: list[str], before: list[PoolDetail]) -> list[PoolDetail]:
    """Return the pools as they are; one that left since the last look is complete, and no more."""
    leaving = {pool.name for pool in before if pool.plan.change is ChangeClass.DELETE}
    found = []
    for name in names:
        try:
            found.append(client.pool(name))
        except InputError:
            if name not in leaving:
                raise
    return found


def make_view() -> View:
    """Return the view that fits what stderr is."""
    if not is_terminal(sys.stderr):
        return Lines()
    from fairlead.cli.screens.live import LiveView

    return LiveView()


def _concluded(pools: list[PoolDetail]) -> int:
    waiting = [
        f"{pool.name} waits: {pool.verdict.needs} ({pool.verdict.command})"
        for pool in pools
        if pool.verdict.needs
    ]
    if waiting:
        from fairlead.cli.screens.rollout import plain_line

        machines = [machine for pool in pools for machine in pool.machines]
        raise UnavailableError(plain_line("; ".join(waiting), machines))
    return 0
