"""
Text that somebody else wrote, so that nobody who shows it obeys it.

What is not printable is shown as Python spells it: `\\x1b`, `\\n`, `\\u202e`. That covers control
characters, those that turn the direction of writing or join letters invisibly, and halves of
surrogate pairs.
"""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    """Return the text with everything escaped that is not printable and not in `keep`."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() or mark in keep else _escaped(mark) for mark in text)


def _escaped(mark: str) -> str:
    return mark.encode("unicode_escape").decode("ascii")
