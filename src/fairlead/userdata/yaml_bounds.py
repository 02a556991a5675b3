"""
How much YAML is read: bounds on size, depth and number of values, with aliases written out.

Two readers use it, which must not differ in this: that of cloud-configs here, and that of people's
documents in `cli`. It lies here because imports point back along the path. The bounds are checked
event by event, before any value is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

# Far above any set of pools that a person edits and any user data, far below what hurts.
MEBIBYTE = 1 << 20
LARGEST_TEXT = 4 * MEBIBYTE
MOST_VALUES = 200_000
DEEPEST = 64

Place = tuple[int, int]  # line and column, the first of each is 1


class YamlProblem(Exception):  # noqa: N818 - readers tell it in their own words, nobody else sees it
    """Text that cannot be read any further: where, and why."""

    def __init__(self, place: Place, says: str) -> None:
        super().__init__(says)
        self.place = place
        self.says = says


class YamlExcess(YamlProblem):
    """Text that may be YAML, and that we do not read any further."""


@dataclass(frozen=True, slots=True)
class _Weight:
    """What an anchor stands for: values, characters in them, and levels below it."""

    values: int
    characters: int
    levels: int


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end was not seen yet, and the counts when it began."""

    anchor: str | None
    is_mapping: bool
    values: int
    characters: int
    items: int = 0
    levels: int = 0


class YamlBounds:
    """The counts of one document. Every event of it goes through `check`."""

    def __init__(self) -> None:
        self._anchors: dict[str, _Weight] = {}
        self._open: list[_Open] = []
        self._values = 0
        self._characters = 0

    def check(self, event: yaml.Event) -> None:
        """Return if the document may go on. Raises YamlProblem, YamlExcess."""
        if isinstance(event, yaml.CollectionEndEvent):
            self._close()
            return
        if not isinstance(event, yaml.NodeEvent):
            return
        is_name = self._is_name()
        if isinstance(event, yaml.AliasEvent):
            self._add(self._weight_of(event), event)
        elif isinstance(event, yaml.ScalarEvent):
            weight = _Weight(0 if is_name else 1, len(event.value), 0)
            self._add(weight, event)
            self._name(event.anchor, weight)
        else:
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            self._open.append(_Open(event.anchor, is_mapping, self._values, self._characters))
            self._add(_Weight(1, 0, -1), event)

    def _is_name(self) -> bool:
        """Say whether the next value is a name in a mapping, and count it there."""
        if not self._open:
            return False
        above = self._open[-1]
        above.items += 1
        return above.is_mapping and above.items % 2 == 1

    def _weight_of(self, event: yaml.AliasEvent) -> _Weight:
        weight = self._anchors.get(event.anchor or "")
        if weight is None:
            is_inside = any(above.anchor == event.anchor for above in self._open)
            kind = YamlExcess if is_inside else YamlProblem
            raise kind(place_of(event), f"*{event.anchor} refers to nothing above it")
        return weight

    def _add(self, weight: _Weight, event: yaml.Event) -> None:
        self._values += weight.values
        self._characters += weight.characters
        if self._values > MOST_VALUES:
            says = f"holds more than {MOST_VALUES} values, aliases written out"
        elif self._characters > LARGEST_TEXT:
            says = f"is larger than {LARGEST_TEXT // MEBIBYTE} MiB, aliases written out"
        elif len(self._open) + weight.levels > DEEPEST:
            says = f"is nested deeper than {DEEPEST} levels"
        else:
            if self._open:
                self._open[-1].levels = max(self._open[-1].levels, weight.levels + 1)
            return
        raise YamlExcess(place_of(event), says)

    def _close(self) -> None:
        ended = self._open.pop()
        weight = _Weight(
            self._values - ended.values, self._characters - ended.characters, ended.levels
        )
        self._name(ended.anchor, weight)
        if self._open:
            self._open[-1].levels = max(self._open[-1].levels, ended.levels + 1)

    def _name(self, anchor: str | None, weight: _Weight) -> None:
        if anchor:
            self._anchors[anchor] = weight


def refuse_large(text: str) -> None:
    """Return if a text may be read at all; else raise YamlExcess."""
    if len(text) > LARGEST_TEXT:
        # Rounded up: what is refused is never told to be as large as what is allowed.
        found = -(-len(text) * 10 // MEBIBYTE) / 10
        allowed = f"at most {LARGEST_TEXT // MEBIBYTE} MiB in one file"
        raise YamlExcess((1, 1), f"found {found:.1f} MiB, expected {allowed}")


def problem_in(error: yaml.YAMLError | UnicodeEncodeError, text: str) -> YamlProblem:
    """Return what PyYAML found in a text, and where."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return YamlProblem(place, f"is not YAML: {_said(error, text, place)}")
    reason = getattr(error, "reason", error)
    place = (_line_of(error, text), 1)
    return YamlProblem(place, f"holds a character that YAML does not allow: {reason}")


def place_of(event: yaml.Event | yaml.Node) -> Place:
    """Return where an event or a value begins."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _line_of(error: yaml.YAMLError | UnicodeEncodeError, text: str) -> int:
    """Return the line of a character that stopped the reader: it knows no lines yet."""
    if isinstance(error, UnicodeEncodeError):
        return text.count("\n", 0, error.start) + 1
    if not isinstance(error, yaml.reader.ReaderError):
        return 1
    if error.encoding == "unicode":  # the reader in Python counts characters, that in C bytes
        return text.count("\n", 0, error.position) + 1
    return text.encode().count(b"\n", 0, error.position) + 1


def _said(error: yaml.MarkedYAMLError, text: str, place: Place) -> str:
    line, column = place
    lines = text.splitlines()[line - 1 : line]
    if any("\t" in found[:column] for found in lines):
        return "a tab stands where only spaces may"
    return error.problem or "cannot be read"
