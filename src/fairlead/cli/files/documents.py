"""
Files of NodePool and PlatformConfig documents: all that is wrong with one, by line and column.

What is wrong is the judge's to say, here as in the control plane. What only the control plane can
know (that a pool exists, that a plan is exceeded) comes back by field and gets its place here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlead.cli.files.listed_error import ListedError
from fairlead.cli.files.typed_file import read_typed_file
from fairlead.cli.files.yaml_values import YamlDocument, parse_yaml, plain_value
from fairlead.contract.visible_text import visible
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.proposal.complaint import Complaint
from fairlead.proposal.judge import NODE_POOL, PLATFORM_CONFIG, judge, title_of
from fairlead.proposal.kubelet_fields import strange_fields
from fairlead.userdata.yaml_bounds import Place, YamlProblem
from fairlead.zones import find_zone

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
        return self.title.partition("/")[2]

    @property
    def title(self) -> str:
        """Its kind and name, as NodePool/workers."""
        return title_of(self)


@dataclass(frozen=True, slots=True, order=True)
class _Problem:
    place: Place
    path: str
    says: str

    def line(self, source: str) -> str:
        line, column = self.place
        where = f"{self.path}: " if self.path else ""
        return f"{source}:{line}:{column}: {where}{self.says}"

    def fields(self, source: str) -> dict[str, Json]:
        line, column = self.place
        return {
            "file": source,
            "line": line,
            "column": column,
            "field": self.path,
            "problem": self.says,
        }


def read_documents(path: Path) -> list[Document]:
    """Return the documents of a file. Raises InputError that lists everything wrong with it."""
    try:
        return parse_documents(read_typed_file(path), "stdin" if str(path) == "-" else path)
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
        raise _listed(problems, name)
    if not found:
        raise InputError("holds no document", field=name, hint="expected NodePool documents")
    for document in found:
        _warn(document)
    return found


def _warn(document: Document) -> None:
    """Say what is no mistake for certain, and probably one."""
    for path, says in strange_fields(document):
        place = _place_of(document.text, path, is_name=True)
        line = _Problem(place, path, f"warning: {says}").line(document.source)
        sys.stderr.write(f"{visible(line)}\n")


def placed(error: InputError, documents: Iterable[Document]) -> InputError:
    """Return the error with the place of its field, if just one of the documents has that field."""
    having = [document for document in documents if error.field in document.text.values]
    if not error.field or len(having) != 1:
        return error
    hint = f" ({error.hint})" if error.hint else ""
    place = _place_of(having[0].text, error.field, is_name=False)
    return _listed([_Problem(place, error.field, error.problem + hint)], having[0].source)


def _listed(problems: list[_Problem], source: str) -> ListedError:
    found = sorted(problems)
    lines = [problem.line(source) for problem in found]
    if len(lines) > 1:
        rest = [f"and {len(lines) - MOST_PROBLEMS} more"] if len(lines) > MOST_PROBLEMS else []
        lines = [f"{source}: {len(lines)} problems", *lines[:MOST_PROBLEMS], *rest]
    return ListedError(lines, [problem.fields(source) for problem in found])


def _repeated(documents: list[Document]) -> Iterator[_Problem]:
    seen: set[str] = set()
    for document in documents:
        # There is one platform, whatever its document is called.
        title = document.kind if document.kind == PLATFORM_CONFIG else document.title
        if title in seen and document.kind in (NODE_POOL, PLATFORM_CONFIG):
            place = _place_of(document.text, "metadata.name", is_name=False)
            yield _Problem(place, "metadata.name", f"a second {title} in one file")
        seen.add(title)


def _problems_of(text: YamlDocument) -> list[_Problem]:
    found = [_Problem(place, path, says) for path, place, says in text.problems]
    told = {problem.path for problem in found}
    for complaint in judge(text.value, find_zone):
        if complaint.field not in told:
            place = _place_of(text, complaint.field, is_name=complaint.is_name)
            found.append(_Problem(place, complaint.field, _as_written(text, complaint)))
    return found


def _as_written(text: YamlDocument, complaint: Complaint) -> str:
    """Return a complaint that quotes a number as the file has it: 1.30 is read as 1.3."""
    said = str(complaint)
    if (spelled := text.numbers.get(complaint.field)) is None:
        return said
    read = str(plain_value(spelled))
    return said.replace(f"number {read}", f"number {spelled}").replace(f"'{read}'", f"'{spelled}'")


def _place_of(text: YamlDocument, path: str, *, is_name: bool) -> Place:
    """A field that is missing stands where the nearest one around it begins."""
    places = text.names if is_name else text.values
    while path and path not in places:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return places.get(path) or text.values.get("", (1, 1))
