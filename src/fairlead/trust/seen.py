"""What a node remembers of metadata across boots, so that nobody leads it back."""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, encode_json, parse_json, plain
from fairlead.errors import InputError

NUMBERS = ("timestamp", "snapshot", "targets")


class Seen:
    """The newest root that was followed to, as its text, and the newest version of the others."""

    __slots__ = ("root", "snapshot", "targets", "timestamp")

    def __init__(
        self, *, root: bytes = b"", timestamp: int = 0, snapshot: int = 0, targets: int = 0
    ) -> None:
        self.root = root
        self.timestamp = timestamp
        self.snapshot = snapshot
        self.targets = targets

    def render(self) -> bytes:
        """Return the text to keep."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return encode_json({"root": self.root.decode(), **numbers}).encode() + b"\n"


def parse_seen(text: bytes) -> Seen:
    """Return what was kept. Raises InputError: a memory that is damaged is no empty memory."""
    document = parse_json(text)
    values = plain(document) if isinstance(document, Pairs) else {}
    seen = Seen()
    root = values.get("root")
    if not isinstance(root, str):
        raise InputError("is not what this agent keeps of hotfix metadata", field="root")
    seen.root = root.encode()
    for name in NUMBERS:
        number = values.get(name)
        if type(number) is not int or number < 0:
            raise InputError("is not what this agent keeps of hotfix metadata", field=name)
        setattr(seen, name, number)
    return seen
