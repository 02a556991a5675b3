"""Leaves as people read them: what changed, whose it is, from what to what."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from fairlead.answers.leaf import HeldLeaf, LeafDifference
from fairlead.answers.words import LeafClass, Severity
from fairlead.cli.screens.blocks import BAD, GOOD, QUIET, WAITING, Cell, Grid, Toned
from fairlead.contract.json_text import encode_json
from fairlead.inputs.bounds import duration_text
from fairlead.inputs.registry import find_row
from fairlead.inputs.shape import DURATION, WINDOWS
from fairlead.telling.spoken_time import age_of

# A digest in full; longer values are in --json.
LONGEST_VALUE = 72

CLASS_TONES = {
    LeafClass.INTENT: WAITING,
    LeafClass.PLATFORM: QUIET,
    LeafClass.CONTENT: QUIET,
    LeafClass.IN_PLACE: GOOD,
    LeafClass.IGNORED: QUIET,
    LeafClass.UNKNOWN: BAD,
}
SEVERITY_TONES = {
    Severity.ROUTINE: QUIET,
    Severity.SECURITY: WAITING,
    Severity.CONNECTIVITY: WAITING,
}


def value_text(value: object) -> Cell:
    """Return a leaf's value on one line: text as it is, all else as JSON."""
    if value is None:
        return Toned("(not set)", QUIET)
    text = value if isinstance(value, str) else encode_json(value, ascii_only=False)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def leaf_value(leaf: str, value: object) -> Cell:
    """Return a leaf's value as its owner writes it: durations have units."""
    row = find_row(leaf)
    if row is not None and row.shape is DURATION and isinstance(value, int):
        return duration_text(value)
    if row is not None and row.shape is WINDOWS and isinstance(value, list):
        return value_text([_window(one) for one in value])
    return value_text(value)


def _window(value: object) -> object:
    if not isinstance(value, dict) or not isinstance(value.get("duration"), int):
        return value
    return {**value, "duration": duration_text(value["duration"])}


def leaf_grid(
    leaves: Iterable[LeafDifference], held: Collection[LeafClass] = (), indent: int = 2
) -> Grid:
    """Return a table of leaves; those of the classes that are held say so."""
    rows = tuple(
        (
            leaf.leaf,
            Toned("held", QUIET)
            if leaf.leaf_class in held
            else Toned(leaf.leaf_class.value, CLASS_TONES[leaf.leaf_class]),
            leaf.owner,
            leaf_value(leaf.leaf, leaf.before),
            leaf_value(leaf.leaf, leaf.after),
        )
        for leaf in leaves
    )
    return Grid(("LEAF", "CLASS", "OWNER", "BEFORE", "AFTER"), rows, indent)


def held_grid(held: Iterable[HeldLeaf], now: datetime, indent: int = 2) -> Grid:
    """Return a table of held platform changes, each with its age."""
    rows = tuple(
        (
            change.id,
            change.leaf,
            change.owner,
            Toned(change.severity.value, SEVERITY_TONES[change.severity]),
            age_of(change.since, now),
            value_text(change.before),
            value_text(change.after),
        )
        for change in held
    )
    headings = ("CHANGE", "LEAF", "OWNER", "SEVERITY", "HELD FOR", "BEFORE", "AFTER")
    return Grid(headings, rows, indent)
