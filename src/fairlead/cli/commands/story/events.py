"""`fairlead events`: what happened to pools and machines, and what happens from here on."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import datetime, timedelta

from fairlead.cli.flags import add_plane_flags, describe_command
from fairlead.cli.request import find_subject, plane_of, write_answer
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fairlead.answers.event import Event, Events

EXAMPLE = """\
example: the last hour of every pool; the latest ten of one
  fairlead events --since 1h
  fairlead events workers --limit 10

With --follow it goes on with what happens from here on.
MOMENT is an RFC 3339 moment (2026-11-20T22:00:00Z) or a duration back from now (90s, 30m, 2h, 7d).
Times are UTC, here as everywhere. `fairlead timeline NAME` tells the story of one pool or machine.
"""

DEFAULT_EVENTS = 100
MOST_EVENTS = 10_000
LOOK_S = 0.5
# Events are told a moment after they happened; looking again this far back misses none.
OVERLAP = timedelta(seconds=60)


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of events."""
    describe_command(parser, "Show what happened to pools and machines.", EXAMPLE, _run)
    parser.add_argument(
        "name", nargs="?", metavar="POOL|MACHINE", help="of this pool or machine only"
    )
    parser.add_argument("--since", metavar="MOMENT", help="none before this")
    parser.add_argument(
        "--limit",
        type=int,
        default=DEFAULT_EVENTS,
        metavar="N",
        help=f"the latest N (default: {DEFAULT_EVENTS})",
    )
    parser.add_argument(
        "-F", "--follow", action="store_true", help="go on with those to come, until Ctrl-C"
    )
    add_plane_flags(parser)


def _run(arguments: Namespace) -> int:
    if not 0 < arguments.limit <= MOST_EVENTS:
        raise InputError(f"found {arguments.limit}, expected 1 to {MOST_EVENTS}", field="--limit")
    since = _moment_of(arguments.since) if arguments.since else None
    ask = _question(arguments)
    found = ask(since, arguments.limit)
    if arguments.follow:
        _follow(arguments, ask, found)
    if arguments.json:
        write_answer(found)
        return 0
    from fairlead.cli.screens.machine import event_story, story_blocks
    from fairlead.cli.screens.show import write_blocks

    if len(found.events) == arguments.limit:
        sys.stderr.write(f"the latest {arguments.limit}; --limit shows more\n")
    write_blocks(story_blocks(event_story(found.events)))
    return 0


def _question(arguments: Namespace) -> Callable[[datetime | None, int], Events]:
    """Return how to ask for events of what was named."""
    client = plane_of(arguments)
    named: dict[str, str] = {}
    if arguments.name:
        from fairlead.answers.pool import PoolDetail

        found = find_subject(client, arguments.name)
        named = {"pool" if isinstance(found, PoolDetail) else "machine": found.name}
    return lambda since, limit: client.events(**named, since=since, limit=limit)


def _follow(
    arguments: Namespace, ask: Callable[[datetime | None, int], Events], found: Events
) -> None:
    """Write every event once, as it comes. Ends with Ctrl-C, or the control plane."""
    told: dict[tuple[str, str], Event] = {}
    while True:
        fresh = [event for event in found.events if (event.pool, event.key) not in told]
        _write_lines(arguments, fresh)
        latest = max((event.at for event in found.events), default=None)
        told = {(event.pool, event.key): event for event in (*told.values(), *fresh)}
        if latest:
            told = {key: event for key, event in told.items() if event.at >= latest - 2 * OVERLAP}
        time.sleep(LOOK_S)
        found = ask(latest - OVERLAP if latest else None, MOST_EVENTS)


def _write_lines(arguments: Namespace, events: Iterable[Event]) -> None:
    from fairlead.answers.text import plain
    from fairlead.cli.screens.machine import event_line
    from fairlead.cli.screens.show import write_blocks

    for event in events:
        if arguments.json:
            sys.stdout.write(encode_json(plain(event)) + "\n")
        else:
            write_blocks([event_line(event)])
    sys.stdout.flush()


def _moment_of(text: str) -> datetime:
    from fairlead.cli.files.moment_text import parse_past

    return parse_past(text, "--since")
