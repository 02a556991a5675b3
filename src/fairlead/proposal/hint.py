"""The one rule by which a field that nobody knows is answered with one that somebody does."""

import difflib
from collections.abc import Iterable

from fairlead.inputs.leaf import Leaf
from fairlead.inputs.parse import written
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.registry import WILDCARD

UNKNOWN_FIELD = "this field is not known"


def close_name(name: str, known: Iterable[str]) -> str:
    """Return the question whether the closest of the known names was meant, or ''."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}?" if close else ""


def field_hint(path: str, rows: Iterable[Leaf], more: Iterable[str] = ()) -> str:
    """
    Return what was probably meant by a field that no row names, or ''.

    The right name in the wrong place is the more likely mistake and is answered with its whole
    path; otherwise a name that may stand in this place, or one that may stand anywhere.
    """
    short = path.removeprefix(PLATFORM)
    parent, dot, name = short.rpartition(".")
    known = [row.path.removesuffix(WILDCARD).removeprefix(PLATFORM) for row in rows]
    for whole in known:
        if whole.rpartition(".")[2] == name:
            return f"did you mean {written(whole)}?"
    beside = [
        whole.removeprefix(parent + dot).partition(".")[0]
        for whole in known
        if whole.startswith(parent + dot)
    ]
    return close_name(name, [*beside, *([] if parent else more)]) or close_name(short, known)
