"""Drawings on a terminal that are replaced in place. Loaded only where somebody looks."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live

from fairlead.answers.pool import PoolDetail
from fairlead.cli.screens.rollout import draw_rollout


class LiveScreen:
    """A drawing that is replaced by the next; the last one stays."""

    def __init__(self, *, is_error_stream: bool) -> None:
        self._console = Console(stderr=is_error_stream, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    @property
    def width(self) -> int:
        """The columns of the terminal, as it is at this moment."""
        return self._console.width

    def draw(self, drawing: RenderableType) -> None:
        """Replace what is shown."""
        self._live.update(drawing, refresh=True)


class LiveView(LiveScreen):
    """The progress of rollouts, on stderr."""

    def __init__(self) -> None:
        super().__init__(is_error_stream=True)

    def show(self, pools: list[PoolDetail]) -> None:
        """Draw how far the pools are."""
        self.draw(Group(*(draw_rollout(pool, self.width) for pool in pools)))
