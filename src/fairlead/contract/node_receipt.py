"""
The receipt of a node config: what the agent understood, defaulted and ignored, by path.

It travels in the boot report, so its encoded form is bounded: counts are always true, paths
are listed while they fit. Paths hold names only, never values, which may be secrets; names
that the contract does not know come from the document and are cut and reduced to ASCII.
"""

from __future__ import annotations

from fairlead.contract.json_text import encode_json, encode_line
from fairlead.contract.node_schema import MESSAGES, TOP_MESSAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ENCODED = 512  # bytes
MAX_NAME = 40  # characters of a name that the document chose
# What a path of the contract is, once the document is read.
UNDERSTOOD, DEFAULTED, REFUSED = "understood", "defaulted", "refused"


class Receipt:
    """
    What became of the fields of one document.

    understood: fields that were set to something usable, the zero value included;
    defaulted: fields that the document left unset, in every message that it has;
    ignored: names that the contract does not know, and values that could not be used.
    """

    __slots__ = ("_fates", "_fields", "defaulted", "ignored", "ignored_paths", "understood")

    def __init__(self) -> None:
        self.understood = 0
        self.defaulted = 0
        self.ignored = 0
        self.ignored_paths: list[str] = []
        self._fields: dict[str, object] = {}
        # Fields that the document set and the config does not hold: zero values, and refused.
        self._fates: dict[str, str] = {}

    def note(self, path: str, fate: str) -> None:
        """Remember a field that the document set but the config will not hold."""
        self._fates[path] = fate

    def close(self, fields: dict[str, object]) -> None:
        """Take the finished config, from which the paths are told when someone asks."""
        self._fields = fields

    def understood_paths(self) -> Iterator[str]:
        """List the fields that were set, messages before what they hold."""
        return (
            path for path, fate in self._walk(TOP_MESSAGE, self._fields, "") if fate == UNDERSTOOD
        )

    def defaulted_paths(self) -> Iterator[str]:
        """List the fields left unset in the messages that the document has."""
        return (
            path for path, fate in self._walk(TOP_MESSAGE, self._fields, "") if fate == DEFAULTED
        )

    def encode(self) -> dict[str, object]:
        """Return the receipt as JSON values, at most MAX_ENCODED bytes as compact JSON."""
        groups = {
            "understood": _Listing(self.understood, self.understood_paths()),
            "defaulted": _Listing(self.defaulted, self.defaulted_paths()),
            "ignored": _Listing(self.ignored, self.ignored_paths),
        }
        room = MAX_ENCODED - len(encode_line({name: g.encode() for name, g in groups.items()}))
        # What was ignored says most about a boot and may take all the room.
        room = groups["ignored"].fill(room)
        unused = groups["understood"].fill(room // 2)
        groups["defaulted"].fill(room - room // 2 + unused)
        return {name: group.encode() for name, group in groups.items()}

    def _walk(
        self, message: str, values: dict[str, object], prefix: str
    ) -> Iterator[tuple[str, str]]:
        for name, (_, kind, _) in MESSAGES[message].items():
            path = prefix + name
            value = values.get(name)
            if value is None:
                yield path, self._fates.get(path, DEFAULTED)
                continue
            yield path, UNDERSTOOD
            if kind in MESSAGES:
                for inner_path, inner in messages_in(message, name, path, value):
                    yield from self._walk(kind, inner, inner_path + ".")


class _Listing:
    """One group of the encoded receipt while it is being fitted."""

    __slots__ = ("count", "paths", "source")

    def __init__(self, count: int, source: Iterable[str]) -> None:
        self.count = count
        self.source = source
        self.paths: list[str] = []

    def fill(self, room: int) -> int:
        """List paths while they fit into `room` bytes; return the bytes left."""
        for path in self.source:
            cost = len(encode_json(path)) + 1
            if cost > room:
                break
            self.paths.append(path)
            room -= cost
        return room

    def encode(self) -> dict[str, object]:
        left = self.count - len(self.paths)
        return {
            "count": self.count,
            "paths": [*self.paths, f"+{left} more"] if left else self.paths,
        }


def messages_in(
    message: str, name: str, path: str, value: object
) -> Iterator[tuple[str, dict[str, object]]]:
    """List the messages that one field holds, with their paths: one, or one per map key."""
    if not isinstance(value, dict):
        return
    if MESSAGES[message][name][2] != "map":
        yield path, value
        return
    for key, inner in value.items():
        yield f"{path}[{shown_name(key)}]", inner


def shown_name(name: str) -> str:
    """Return a name that the document chose as printable ASCII of bounded length."""
    cut = name if len(name) <= MAX_NAME else name[: MAX_NAME - 3] + "..."
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in cut)
