"""What `fairlead up` shows: pools, machines and the last events, drawn again as they change."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlead.answers.event import Event
from fairlead.answers.machine import MachineAnswer
from fairlead.answers.pool import PoolAnswer
from fairlead.answers.text import plain
from fairlead.answers.words import PoolState
from fairlead.cli.request import write_json
from fairlead.cli.screens.blocks import shown
from fairlead.cli.screens.width import width_of
from fairlead.errors import UnavailableError

if TYPE_CHECKING:
    from fairlead.cli.screens.live import LiveScreen
    from fairlead.embedded.serve.client import Client

LOOK_S = 0.1
MOST_EVENTS = 8

# pools, machines, events
Overview = tuple[Sequence[PoolAnswer], Sequence[MachineAnswer], Sequence[Event]]


def look(client: Client) -> Overview:
    """Return what is to be shown. Raises UnavailableError."""
    return (
        client.pools().pools,
        client.machines().machines,
        client.events(limit=MOST_EVENTS).events,
    )


def is_ready(pool: PoolAnswer) -> bool:
    """Say whether a pool has every machine that is wanted, each up to date."""
    return pool.available == pool.updated == pool.total == pool.desired


def draw(screen: LiveScreen, seen: Overview) -> None:
    """Draw what was seen."""
    from fairlead.cli.screens.overview import screen_blocks

    screen.draw(screen_blocks(*seen, width_of(sys.stdout)))


def watch(client: Client) -> None:
    """Draw until the reader has seen enough (q, Ctrl-C), or the control plane is gone."""
    from fairlead.cli.screens.live import LiveScreen

    hint = "q or Ctrl-C: stop looking; the control plane runs on"
    try:
        with LiveScreen(is_error_stream=False, hint=hint) as screen:
            while True:
                draw(screen, look(client))
                screen.rest(LOOK_S * 2)
    except (KeyboardInterrupt, UnavailableError):
        return


def wait_until_ready(client: Client, timeout_s: float) -> None:
    """
    Wait until every pool is ready, telling how far they are. Raises UnavailableError.

    A pool that only a person can free is not waited for: why it is stuck is told at once.
    """
    end = time.monotonic() + timeout_s
    told: list[str] = []
    while True:
        pools = client.pools().pools
        late = [pool for pool in pools if not is_ready(pool)]
        stuck = [reason for pool in late if (reason := _why_stuck(client, pool))]
        lines = lines_of(pools) + [shown(reason) for reason in stuck]
        if lines != told:
            sys.stderr.write("\n".join(lines) + "\n")
            told = lines
        if not late:
            _refuse_unreadable(pools)
            return
        if len(stuck) == len(late):
            raise UnavailableError("no pool becomes ready by itself; see above who must act")
        if time.monotonic() > end:
            raise UnavailableError(
                f"not every pool was ready after {timeout_s:.0f} s; `fairlead rollout status` "
                "says what they wait for"
            )
        time.sleep(LOOK_S)


def _refuse_unreadable(pools: Sequence[PoolAnswer]) -> None:
    """Raise UnavailableError if nothing can be told of a pool, not even its version."""
    for pool in pools:
        if pool.state is PoolState.BLOCKED and not pool.version:
            raise UnavailableError(f"{pool.name}: {pool.sentence}")


def _why_stuck(client: Client, pool: PoolAnswer) -> str:
    """Return why a pool cannot become ready until somebody acts, and how; '' if it can."""
    # What waits for moments alone goes on by itself: its verdict need not be asked for.
    is_held = pool.state in (PoolState.BLOCKED, PoolState.HELD)
    if not is_held and all(wait.until for wait in pool.waits):
        return ""
    verdict = client.pool(pool.name).verdict
    if verdict.needs:
        return f"{pool.name} waits: {verdict.needs} ({verdict.command})"
    return f"{pool.name} is blocked: {pool.sentence}" if pool.state is PoolState.BLOCKED else ""


def lines_of(pools: Sequence[PoolAnswer]) -> list[str]:
    """Return one line per pool."""
    return [
        f"{pool.name}: {pool.available} of {pool.desired} machines available, "
        f"{pool.updated} up to date ({pool.state.value})"
        for pool in pools
    ]


def print_fields(client: Client) -> None:
    """Print what is there as JSON."""
    pools, machines, _ = look(client)
    seen = {"control_plane": client.health(), "pools": pools, "machines": machines}
    write_json(plain(seen))


def print_overview(client: Client) -> None:
    """Print what is there, once."""
    from fairlead.cli.screens.overview import screen_blocks
    from fairlead.cli.screens.show import write_blocks

    write_blocks(screen_blocks(*look(client), width_of(sys.stdout)))
