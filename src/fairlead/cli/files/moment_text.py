"""Moments that people type, and values that were never used before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fairlead.errors import InputError
from fairlead.inputs.shape import DURATION, moment_text

MOST_PAST_S = 1000 * 365 * 86400.0


def parse_moment(text: str) -> str:
    """Return an RFC 3339 moment: as typed, or a duration from now. Raises InputError."""
    try:
        seconds = DURATION.parse(text, "--until")
    except InputError:
        return moment_text(text, "--until")
    until = datetime.now(UTC) + timedelta(seconds=float(str(seconds)))
    return until.replace(microsecond=0).isoformat()


def parse_past(text: str, flag: str) -> datetime:
    """Return a moment: as typed, or a duration back from now. Raises InputError."""
    try:
        seconds = DURATION.parse(text, flag)
    except InputError:
        return _as_typed(text, flag)
    # As far back as there are dates.
    return datetime.now(UTC) - timedelta(seconds=min(float(str(seconds)), MOST_PAST_S))


def _as_typed(text: str, flag: str) -> datetime:
    try:
        return datetime.fromisoformat(moment_text(text, flag))
    except InputError as error:
        expected = "a moment (2026-11-20T22:00:00Z) or a duration back from now (90s, 30m, 2h, 7d)"
        raise InputError(f"found {text!r}, expected {expected}", field=flag) from error


def fresh_value() -> str:
    """Return a text that was not seen before: this moment, to the microsecond."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
