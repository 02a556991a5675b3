"""Numbers and names in sentences."""

from collections.abc import Sequence

# Names on one line; all of them are in --json.
MOST_NAMES = 12


def counted(count: int, noun: str = "machine") -> str:
    """Return `1 machine` or `3 machines`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def names_text(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
