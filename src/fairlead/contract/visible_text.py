"""
Text that somebody else wrote, so that nobody who shows it obeys it.

What is not printable is shown as Python spells it: `\\x1b`, `\\n`, `\\u202e`. That covers control
characters, those that turn the direction of writing or join letters invisibly, and halves of
surrogate pairs. The number of an error of the operating system says nothing beside its words.
"""

from __future__ import annotations

import re

_ERRNO = re.compile(r"\[Errno -?\d+\] ?", re.ASCII)


def visible(text: str, keep: str = "") -> str:
    """Return the text with everything escaped that is not printable and not in `keep`."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() or mark in keep else _escaped(mark) for mark in text)


def without_errno(text: str) -> str:
    """Return the text without the numbers of errors; the words behind each say the same."""
    return _ERRNO.sub("", text) if "[Errno " in text else text


def _escaped(mark: str) -> str:
    return mark.encode("unicode_escape").decode("ascii")
