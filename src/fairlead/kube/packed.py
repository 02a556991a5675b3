"""Objects in few bytes, for those of which there are many."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import msgspec

from fairlead.kube.answer import Object, version_of

# Bytes of an object that is kept as the text that it is: most machines, sets and tokens, of which a
# pass reads seven. With 8 KiB, pools and user data as well, 5,000 pools took 245 MiB.
LARGEST_PLAIN = 2 << 10
PLAIN = b"{"


@dataclass(frozen=True, slots=True)
class Packed:
    """
    One object, and what it is told apart by. is_marked: see Selection.

    content: its JSON, compressed where that is large. As Python's own values, 5,000 pools with all
    that is theirs take a quarter of a gigabyte more.
    """

    version: str
    uid: str
    content: bytes
    is_marked: bool = False

    @property
    def object(self) -> Object:
        """The object, anew for each reader."""
        content = self.content
        if not content.startswith(PLAIN):
            content = zlib.decompress(content)
        found: Object = msgspec.json.decode(content)
        return found


def packed(found: Object, *, is_marked: bool = False) -> Packed:
    """Return an object in as few bytes as little work makes of it."""
    uid: str = found["metadata"].get("uid", "")
    content = msgspec.json.encode(found)
    if len(content) > LARGEST_PLAIN:
        content = zlib.compress(content, level=1)
    return Packed(version_of(found), uid, content, is_marked)
