"""Leaves as people read them: what changed, whose it is, from what to what."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fairlead.cli.screens.blocks import BAD, GOOD, QUIET, WAITING, Cell, Grid, Toned
from fairlead.cli.screens.spoken_time import age_of
from fairlead.contract.json_text import encode_json

# A digest in full; longer values are in --json.
LONGEST_VALUE = 72

CLASS_TONES = {
    "intent": WAITING,
    "platform": QUIET,
    "held": QUIET,
    "in-place": GOOD,
    "unknown": BAD,
}


def value_text(value: object) -> Cell:
    """Return a leaf's value on one line: text as it is, all else as JSON."""
    if value is None:
        return Toned("(not set)", QUIET)
    text = value if isinstance(value, str) else encode_json(value, ascii_only=False)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def leaf_grid(leaves: Iterable[dict[str, Any]], indent: int = 2) -> Grid:
    """Return a table of leaves."""
    rows = tuple(
        (
            leaf["leaf"],
            Toned(leaf["class"], CLASS_TONES.get(leaf["class"], "")),
            leaf["owner"],
            value_text(leaf["before"]),
            value_text(leaf["after"]),
        )
        for leaf in leaves
    )
    return Grid(("LEAF", "CLASS", "OWNER", "BEFORE", "AFTER"), rows, indent)


def held_grid(held: Iterable[dict[str, Any]], now: datetime, indent: int = 2) -> Grid:
    """Return a table of held platform changes, each with its age."""
    rows = tuple(
        (
            change["id"],
            change["leaf"],
            change["owner"],
            Toned(change["severity"], QUIET if change["severity"] == "routine" else WAITING),
            age_of(change["since"], now),
            value_text(change["before"]),
            value_text(change["after"]),
        )
        for change in held
    )
    headings = ("CHANGE", "LEAF", "OWNER", "SEVERITY", "HELD FOR", "BEFORE", "AFTER")
    return Grid(headings, rows, indent)
