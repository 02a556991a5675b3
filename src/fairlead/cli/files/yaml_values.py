"""
YAML text to JSON values, and where in the text each of them stands.

What YAML 1.1 and 1.2 read differently is never guessed: 22:00, 0644 and a date stay the text
that was written, and a bare yes, no, on or off is refused. A repeated name, a merge key and a tag
of somebody else's are refused. Sizes and depths are bounded as in every YAML that we read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from fairlead.inputs.leaf import Json
from fairlead.userdata.yaml_bounds import (
    Place,
    YamlBounds,
    YamlProblem,
    place_of,
    problem_in,
    refuse_large,
)

_TAG = "tag:yaml.org,2002:"
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FRACTION = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# A number with more digits than this is an identifier that somebody forgot to quote.
MOST_DIGITS = 18
_AMBIGUOUS = frozenset(("y", "n", "yes", "no", "on", "off"))


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """
    One document. Places are by path, as `spec.config[0].kind`, those of names and of values.

    `problems` are values that were left out or taken as text; the rest of the document stands.
    `numbers` are those that have more than one spelling, as they are written: 1e3, 1.30.
    """

    value: Json
    names: dict[str, Place] = field(default_factory=dict)
    values: dict[str, Place] = field(default_factory=dict)
    problems: list[tuple[str, Place, str]] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)


def parse_yaml(text: str) -> Iterator[YamlDocument]:
    """Give the documents that are not empty. Raises YamlProblem where it cannot go on."""
    refuse_large(text)
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        events = yaml.parse(text, Loader=loader)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                document = _Reading(_bounded(events)).read()
                if document.value is not None:
                    yield document
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise problem_in(error, text) from error


def parse_yaml_value(text: str) -> Json:
    """Return the one value in a short text, as on a command line. Raises YamlProblem."""
    documents = list(parse_yaml(text))
    if len(documents) > 1:
        raise YamlProblem((1, 1), "is more than one value")
    for document in documents:
        for _, place, says in document.problems:
            raise YamlProblem(place, says)
        return document.value
    return None


def _bounded(events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    bounds = YamlBounds()
    for event in events:
        bounds.check(event)
        yield event


class _Reading:
    """One document while it is read."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self.events = events
        self.document = YamlDocument(None)
        self.anchors: dict[str, Json] = {}

    def read(self) -> YamlDocument:
        value = self.value_of(next(self.events), "")
        read = self.document
        return YamlDocument(value, read.names, read.values, read.problems, read.numbers)

    def value_of(self, event: yaml.Event, path: str) -> Json:
        place = place_of(event)
        self.document.values.setdefault(path, place)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, place)
        value: Json
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(event, path)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(event, path)
        else:
            value = self._scalar(event, path, place)
        if anchor := getattr(event, "anchor", None):
            self.anchors[anchor] = value
        return value

    def _alias(self, event: yaml.AliasEvent, place: Place) -> Json:
        if event.anchor not in self.anchors:
            raise YamlProblem(place, f"*{event.anchor} refers to a name, expected a value")
        return self.anchors[event.anchor]

    def _mapping(self, event: yaml.MappingStartEvent, path: str) -> Json:
        self._refuse_tag(event.tag, "map", path, place_of(event))
        found: dict[str, Json] = {}
        while not isinstance(key := next(self.events), yaml.MappingEndEvent):
            place = place_of(key)
            if not isinstance(key, yaml.ScalarEvent):
                raise YamlProblem(place, "is a name that is no text")
            below = f"{path}.{key.value}".removeprefix(".")
            is_repeated = key.value in found
            if is_repeated:
                line = self.document.names[below][0]
                self._complain(below, place, f"is written twice, first in line {line}")
            elif key.value == "<<" and not key.style:
                self._complain(below, place, "merge keys are not read; write the fields out")
            self.document.names.setdefault(below, place)
            value = self.value_of(next(self.events), below)
            if not is_repeated:
                found[key.value] = value
        return found

    def _list(self, event: yaml.SequenceStartEvent, path: str) -> Json:
        self._refuse_tag(event.tag, "seq", path, place_of(event))
        found: list[Json] = []
        while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
            found.append(self.value_of(item, f"{path}[{len(found)}]"))
        return found

    def _scalar(self, event: yaml.Event, path: str, place: Place) -> Json:
        if not isinstance(event, yaml.ScalarEvent):
            raise YamlProblem(place, f"found {type(event).__name__}, expected a value")
        if event.tag is not None and event.tag != "!":
            self._refuse_tag(event.tag, "str", path, place)
            return str(event.value)
        if event.style or event.tag == "!":
            return str(event.value)
        if event.value.lower() in _AMBIGUOUS:
            says = f"found {event.value}, which YAML 1.1 reads as true or false and 1.2 as text"
            self._complain(path, place, f"{says}; write true, false, or '{event.value}' in quotes")
        value = plain_value(event.value)
        if isinstance(value, float):
            self.document.numbers.setdefault(path, event.value)
        return value

    def _refuse_tag(self, tag: str | None, kind: str, path: str, place: Place) -> None:
        if tag not in (None, "!", _TAG + kind):
            self._complain(path, place, f"found the tag {tag}, expected none")

    def _complain(self, path: str, place: Place, says: str) -> None:
        self.document.problems.append((path, place, says))


def plain_value(text: str) -> Json:
    """Return what a bare word in YAML is: nothing, true, false, a number, or text."""
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text) and len(text) <= MOST_DIGITS:
        return int(text)
    if _FRACTION.fullmatch(text) and len(text) <= MOST_DIGITS:
        number = float(text)
        return number if number not in (float("inf"), float("-inf")) else text
    return text


class _Writer(yaml.SafeDumper):
    """PyYAML's, with quotes around every text that would be read as something else."""


def _write_text(writer: _Writer, text: str) -> yaml.Node:
    style = None
    if not text.isprintable():
        style = '"'  # what is no character of a line is escaped
    elif plain_value(text) != text or text.lower() in _AMBIGUOUS:
        style = "'"
    return writer.represent_scalar(f"{_TAG}str", text, style=style)


_Writer.add_representer(str, _write_text)


def render_yaml(value: object, *, is_ascii: bool = False) -> str:
    """Return a value as YAML that parse_yaml reads as the same value."""
    return str(yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=not is_ascii))
