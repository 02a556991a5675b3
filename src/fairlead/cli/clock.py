"""What time it is for whoever looks: the only clock that screens read."""

from __future__ import annotations

from datetime import UTC, datetime


def present() -> datetime:
    """Return this moment, in UTC."""
    return datetime.now(UTC)
