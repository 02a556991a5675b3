"""
Time zones by name, from this computer's own files or the tzdata package.

Edges and commands bring them to where windows are judged: the middle of the path opens no file.
"""

from datetime import tzinfo
from zoneinfo import ZoneInfo


def find_zone(name: str) -> tzinfo | None:
    """Return the rules of a zone, or None if nothing here knows it."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None
