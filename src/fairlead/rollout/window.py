"""
Maintenance windows: when they open, in their own time zone, and whether something still fits.

A window opens at a wall-clock time and lasts real time, so that it is as long on the night the
clocks change as on any other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from fairlead.errors import InputError
from fairlead.inputs.bounds import LONGEST_S
from fairlead.inputs.defaults import DEFAULTS
from fairlead.inputs.shape import DAYS

DAYS_OF_A_WEEK = 7

# The rules of a time zone by its name, or None. An edge reads them; nothing here opens a file.
FindZone = Callable[[str], tzinfo | None]


def utc_only(name: str) -> tzinfo | None:
    """Know one zone: what there is where no edge brings zones along."""
    return UTC if name == "UTC" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One weekly window; `days` are those on which it opens, Monday is 0."""

    days: frozenset[int]
    start: time
    duration: timedelta
    zone: tzinfo


def parse_window(value: object, path: str, longest_step: timedelta, find_zone: FindZone) -> Window:
    """Return a window. Raises InputError if no step ever fits, or the zone is not known."""
    if not isinstance(value, dict):
        raise InputError("expected a window", field=path)
    name = value.get("zone", DEFAULTS["rollout.windows[].zone"])
    zone = find_zone(name)
    if zone is None:
        raise InputError(f"{name!r} is no time zone", field=f"{path}.zone")
    duration = timedelta(seconds=min(value["duration"], LONGEST_S))
    if duration < longest_step:
        raise InputError(
            f"is shorter than replacing one machine takes ({longest_step})",
            field=f"{path}.duration",
        )
    days = value.get("days", DEFAULTS["rollout.windows[].days"])
    return Window(
        days=frozenset(DAYS.index(day) for day in days),
        start=time.fromisoformat(value["start"]),
        duration=duration,
        zone=zone,
    )


def fits(windows: tuple[Window, ...], now: datetime, needs: timedelta) -> bool:
    """Say whether something that takes this long may start. No windows means always."""
    return not windows or last_start(windows, now, needs) is not None


def last_start(windows: tuple[Window, ...], now: datetime, needs: timedelta) -> datetime | None:
    """Return until when something that takes this long may start, or None if it may not now."""
    now = now.astimezone(UTC)  # adding to a wall-clock time would add wall-clock hours
    ends = [
        closes - needs
        for window in windows
        for opens, closes in _openings(window, now)
        if opens <= now and now + needs <= closes
    ]
    return max(ends, default=None)


def next_start(windows: tuple[Window, ...], now: datetime) -> datetime | None:
    """Return when the next window opens after now, or None if there are no windows."""
    starts = [opens for window in windows for opens, _ in _openings(window, now) if opens > now]
    return min(starts, default=None)


def _openings(window: Window, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    # A window may have opened many days ago if it lasts that long.
    back = window.duration.days + 1
    today = now.astimezone(window.zone).date()
    for offset in range(-back, DAYS_OF_A_WEEK + 1):
        day: date = today + timedelta(days=offset)
        if day.weekday() in window.days:
            opens = datetime.combine(day, window.start, window.zone).astimezone(UTC)
            yield opens, opens + window.duration
