"""Moments and durations as people say them: how long ago, how long it takes."""

from datetime import datetime

# (up to how many seconds, the unit's seconds, its name): the first row that holds is used.
_UNITS = ((90, 1, "s"), (90 * 60, 60, "min"), (48 * 3600, 3600, "h"), (float("inf"), 86400, "d"))
MS_PER_S = 1000


def duration_text(seconds: float) -> str:
    """Return `12 s`, `5 min`, `3 h` or `4 d`; never a sum of two units."""
    whole = max(round(seconds), 0)
    size, name = next((size, name) for limit, size, name in _UNITS if whole < limit)
    return f"{whole // size} {name}"


def age_of(moment: datetime | None, now: datetime) -> str:
    """Return how long ago a moment was; '' if there is none."""
    return duration_text((now - moment).total_seconds()) if moment else ""


def time_left(moment: datetime | None, now: datetime) -> str:
    """Return how long it is until a moment; '' if there is none or it has passed."""
    if not moment:
        return ""
    seconds = (moment - now).total_seconds()
    return duration_text(seconds) if seconds > 0 else ""


def boot_text(boot_ms: float | None) -> str:
    """Return how long a boot took, as `412 ms` or `1.2 s`; '' if it is not known."""
    if boot_ms is None:
        return ""
    return f"{boot_ms:.0f} ms" if boot_ms < MS_PER_S else f"{boot_ms / MS_PER_S:.1f} s"
