"""
Files of NodePool and PlatformConfig documents: all that is wrong with one, by line and column.

The control plane judges the same documents again with the same parser; what only it can know
(that a pool exists, that a plan is exceeded) comes back by field and gets its place here.
"""

from __future__ import annotations

import copy
import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlead.cli.files.yaml_values import Place, YamlDocument, YamlProblem, parse_yaml
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Leaf, Unusable
from fairlead.inputs.parse import (
    API_VERSION,
    UNKNOWN,
    parse_node_pool,
    parse_platform_config,
    platform_rows,
    pool_rows,
    unknown_fields,
)
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.shape import kind_of
from fairlead.rollout.policy import policy_of

FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
MOST_PROBLEMS = 50


class Document(dict[str, Json]):
    """One document of a file: its fields, and where they stand."""

    __slots__ = ("source", "text")

    def __init__(self, source: str, text: YamlDocument) -> None:
        super().__init__(text.value if isinstance(text.value, Mapping) else {})
        self.source = source
        self.text = text

    @property
    def kind(self) -> str:
        """NodePool or PlatformConfig."""
        return str(self.get("kind", ""))

    @property
    def name(self) -> str:
        """The name that its metadata give it."""
        metadata = self.get("metadata")
        return str(metadata.get("name")) if isinstance(metadata, Mapping) else ""

    @property
    def title(self) -> str:
        """Its kind and name, as NodePool/workers."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class _Problem:
    place: Place
    path: str
    says: str

    def line(self, source: str) -> str:
        line, column = self.place
        where = f"{self.path}: " if self.path else ""
        return f"{source}:{line}:{column}: {where}{self.says}"


def read_documents(path: Path) -> list[Document]:
    """Return the documents of a file. Raises InputError that lists everything wrong with it."""
    if str(path) == "-":
        return parse_documents(sys.stdin.buffer.read(), "stdin")
    try:
        return parse_documents(path.read_bytes(), path)
    except FileNotFoundError as error:
        hint = "examples/pool.yaml of the project is one to start from"
        raise InputError("no such file", field=str(path), hint=hint) from error


def parse_documents(content: bytes | str, source: Path | str) -> list[Document]:
    """Return the documents in a text. Raises InputError that lists everything wrong with it."""
    name = str(source)
    problems: list[_Problem] = []
    found: list[Document] = []
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        for part in parse_yaml(text):
            problems += _problems_of(part)
            found.append(Document(name, part))
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 at byte {error.start}", field=name) from error
    except YamlProblem as problem:
        problems.append(_Problem(problem.place, "", problem.says))
    problems += _repeated(found)
    if problems:
        raise InputError(_listed(problems, name))
    if not found:
        raise InputError("holds no document", field=name, hint="expected NodePool documents")
    return found


def placed(error: InputError, documents: Iterable[Document]) -> InputError:
    """Return the error with the place of its field, if just one of the documents has that field."""
    having = [document for document in documents if error.field in document.text.values]
    if not error.field or len(having) != 1:
        return error
    hint = f" ({error.hint})" if error.hint else ""
    place = _place_of(having[0].text, error.field, is_name=False)
    return InputError(_Problem(place, error.field, error.problem + hint).line(having[0].source))


def _listed(problems: list[_Problem], source: str) -> str:
    lines = [problem.line(source) for problem in sorted(problems)]
    if len(lines) == 1:
        return lines[0]
    rest = [f"and {len(lines) - MOST_PROBLEMS} more"] if len(lines) > MOST_PROBLEMS else []
    return "\n".join([f"{source}: {len(lines)} problems", *lines[:MOST_PROBLEMS], *rest])


def _repeated(documents: list[Document]) -> Iterator[_Problem]:
    seen: set[str] = set()
    for document in documents:
        # There is one platform, whatever its document is called.
        title = document.kind if document.kind == "PlatformConfig" else document.title
        if title in seen and document.kind in _COMPLAINTS:
            place = _place_of(document.text, "metadata.name", is_name=False)
            yield _Problem(place, "metadata.name", f"a second {title} in one file")
        seen.add(title)


def _problems_of(text: YamlDocument) -> list[_Problem]:
    found = [_Problem(place, path, says) for path, place, says in text.problems]
    told = {problem.path for problem in found}
    for path, says, is_name in _complaints(text.value):
        if path not in told:
            found.append(_Problem(_place_of(text, path, is_name=is_name), path, says))
    return found


def _place_of(text: YamlDocument, path: str, *, is_name: bool) -> Place:
    """A field that is missing stands where the nearest one around it begins."""
    places = text.names if is_name else text.values
    while path and path not in places:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return places.get(path) or text.values.get("", (1, 1))


# Path, what is wrong, and whether the name of the field is wrong rather than its value.
Complaint = tuple[str, str, bool]


def _complaints(value: Json) -> Iterator[Complaint]:
    if not isinstance(value, Mapping):
        yield "", f"found {kind_of(value)}, expected a document with kind and spec", False
        return
    for name in value:
        if name not in FIELDS:
            yield str(name), _unknown(str(name), FIELDS), True
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in _COMPLAINTS:
        close = _close(str(kind), _COMPLAINTS)
        expected = " or ".join(_COMPLAINTS)
        yield "kind", f"found {kind_of(kind)}, expected {expected}{close}", False
        return
    yield from _COMPLAINTS[kind](value)


def _pool_complaints(value: Mapping[str, Json]) -> Iterator[Complaint]:
    trial, header = _parsable(value, parse_node_pool)
    yield from header
    pool = parse_node_pool(trial)
    for half in (pool.intent, pool.settings):
        if isinstance(half, Unusable):
            for problem in half.problems:
                yield problem.field, problem.text, False
    for path in unknown_fields(pool):
        yield f"spec.{path}", _unknown(path, _names_beside(path, pool_rows())), True
    if not isinstance(pool.settings, Unusable):
        try:
            policy_of(pool.settings)
        except InputError as error:
            yield error.field, _with_hint(error), False


def _platform_complaints(value: Mapping[str, Json]) -> Iterator[Complaint]:
    trial, found = _parsable(value, parse_platform_config)
    yield from found
    for leaf in parse_platform_config(trial).leaves:
        if leaf.startswith(UNKNOWN):
            path = leaf.removeprefix(UNKNOWN).removeprefix(PLATFORM)
            yield f"spec.{path}", _unknown(path, _names_beside(path, platform_rows())), True


_COMPLAINTS: Mapping[str, Callable[[Mapping[str, Json]], Iterator[Complaint]]] = {
    "NodePool": _pool_complaints,
    "PlatformConfig": _platform_complaints,
}

# What takes the place of a header that cannot be used, so that the rest is judged as well.
_STAND_INS: Mapping[str, tuple[str, Json]] = {
    "apiVersion": ("apiVersion", API_VERSION),
    "metadata.name": ("metadata", {"name": "pool"}),
    "spec": ("spec", {}),
}


def _parsable(
    value: Mapping[str, Json], parse: Callable[[Json], object]
) -> tuple[dict[str, Json], list[Complaint]]:
    """Return the document without what the parser refuses as a whole, and what that was."""
    trial = copy.deepcopy(dict(value))
    found: list[Complaint] = []
    while True:
        try:
            parse(trial)
        except InputError as error:
            found.append((error.field, _with_hint(error), False))
            if error.field in _STAND_INS:
                name, stand_in = _STAND_INS[error.field]
                trial[name] = stand_in
            elif not _remove(trial, error.field):
                return {**trial, "spec": {}}, found
        else:
            return trial, found


def _remove(mapping: dict[str, Json], path: str) -> bool:
    """Take the field at the path away, the whole list if it is in one. Say whether it was there."""
    for name, item in mapping.items():
        rest = path.removeprefix(name)
        if len(rest) == len(path) or rest[:1] not in ("", ".", "["):
            continue
        if rest.startswith(".") and isinstance(item, dict):
            return _remove(item, rest[1:])
        del mapping[name]
        return True
    return False


def _with_hint(error: InputError) -> str:
    return error.problem + (f" ({error.hint})" if error.hint else "")


def _unknown(path: str, known: Iterable[str]) -> str:
    return "this field is not known" + _close(path.rpartition(".")[2], known)


def _close(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""


def _names_beside(path: str, rows: Iterable[Leaf]) -> list[str]:
    parent, dot, _ = path.rpartition(".")
    names = [] if parent else ["config"]
    for row in rows:
        whole = row.path.removeprefix(PLATFORM)
        if whole.startswith(parent + dot):
            names.append(whole.removeprefix(parent + dot).partition(".")[0])
    return names
