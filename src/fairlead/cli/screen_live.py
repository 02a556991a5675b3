"""The progress of rollouts on a terminal, drawn again in place. Loaded only where one looks."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from fairlead.cli.screen_rollout import draw_rollout


class LiveView:
    """A drawing on stderr that is replaced by the next; the last one stays."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False)

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, pools: list[dict[str, Any]]) -> None:
        """Draw how far the pools are."""
        width = self._console.width
        self._live.update(Group(*(draw_rollout(pool, width) for pool in pools)), refresh=True)
