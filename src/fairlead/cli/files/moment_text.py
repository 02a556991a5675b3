"""Moments that people type, and values that were never used before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fairlead.errors import InputError
from fairlead.inputs.shape import DURATION, moment_text


def parse_moment(text: str) -> str:
    """Return an RFC 3339 moment: as typed, or a duration from now. Raises InputError."""
    try:
        seconds = DURATION.parse(text, "--until")
    except InputError:
        return moment_text(text, "--until")
    until = datetime.now(UTC) + timedelta(seconds=float(str(seconds)))
    return until.replace(microsecond=0).isoformat()


def fresh_value() -> str:
    """Return a text that was not seen before: this moment, to the microsecond."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
