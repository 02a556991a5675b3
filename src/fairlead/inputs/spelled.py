"""
A JSON value as a key: two are the same if they are spelled alike.

Not by ==, for which 1, 1.0 and True are one value and mean three. Equal values whose names stand
in another order are two keys: this serves caches, which then work something out twice.
"""

from fairlead.inputs.leaf import Json

# Characters. A cache that counts what it holds would be filled by a few documents of megabytes,
# which are read again instead.
LARGEST_KEPT = 1 << 14


class Spelled:
    """One value with its spelling. The value must not be changed afterwards."""

    __slots__ = ("text", "value")

    def __init__(self, value: Json) -> None:
        self.value = value
        self.text = repr(value)

    @property
    def is_kept(self) -> bool:
        """Whether a cache may hold it."""
        return len(self.text) <= LARGEST_KEPT

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)
