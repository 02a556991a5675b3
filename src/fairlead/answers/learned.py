"""
Types that msgspec may be asked about from several threads at once.

At its first use it learns a class field by field, evaluates annotations on the way, and keeps what
it knows so far where others find it: a second thread that reads the same type meanwhile follows
pointers that are not set yet, and the process dies of it.
"""

import threading
from typing import Any

import msgspec

_known: set[Any] = set()
_learning = threading.Lock()


def learned(kind: Any) -> Any:
    """Return this type once msgspec knows all of it, and of the types in it."""
    if kind not in _known:
        with _learning:  # one for all: two types may have a third in common
            msgspec.json.Decoder(kind)
            _known.add(kind)
    return kind
