"""
What stands in a document and would reach no machine without a word, so that its owner is told.

Of two things that are said of one leaf in one document the parser of what runs takes the last; and
what is empty, but in a KubeletConfiguration, it takes as not written.
"""

import tomllib
from collections.abc import Iterator, Mapping

from fairlead.contract.canonical import canonical_bytes
from fairlead.inputs.configuration import setting_name
from fairlead.inputs.leaf import Json
from fairlead.inputs.shape import is_empty
from fairlead.proposal.complaint import Complaint

# What is spoken of, what is said of it, and where.
_Said = tuple[str, Json, str]


def left_out(spec: Json) -> Iterator[Complaint]:
    """List what is written twice with different values, and what is empty."""
    fields = spec if isinstance(spec, Mapping) else {}
    for at, document in enumerate(_list_of(fields.get("config"))):
        if isinstance(document, Mapping):
            yield from _left_out_of(document, f"spec.config[{at}]")
    yield from _repeated(_taints_in(fields.get("taints")))


def _left_out_of(document: Mapping[str, Json], path: str) -> Iterator[Complaint]:
    kind = document.get("kind")
    if kind == "Files":
        yield from _repeated(_items_in(document, "files", "path", path))
    elif kind == "Mirrors":
        yield from _repeated(_items_in(document, "mirrors", "source", path))
    elif kind == "Sysctl":
        said = [
            *_settings_in(document.get("settings"), path),
            *_lines_in(document.get("text"), path),
        ]
        yield from _repeated(iter(said))
        for name, value, field in said:
            if isinstance(value, str) and not value.strip():
                yield Complaint(field, f"found no value for {name}, expected one", "leave it out")
            elif isinstance(value, str) and len(value.strip().splitlines()) > 1:
                yield Complaint(
                    field, f"found {len(value.strip().splitlines())} lines, expected one"
                )
    elif kind == "ContainerdConfiguration":
        yield from _empty_in(document.get("settings"), f"{path}.settings")
        yield from _empty_in(_toml_of(document.get("toml")), f"{path}.toml")


def _repeated(said: Iterator[_Said]) -> Iterator[Complaint]:
    first: dict[str, tuple[bytes, str]] = {}
    for name, value, field in said:
        spelled = canonical_bytes(value)
        known, where = first.setdefault(name, (spelled, field))
        if known != spelled:
            problem = f"says something else of {name} than {where}"
            yield Complaint(field, problem, "write one of the two")


def _items_in(document: Mapping[str, Json], items: str, name: str, path: str) -> Iterator[_Said]:
    for at, item in enumerate(_list_of(document.get(items))):
        if isinstance(item, Mapping) and isinstance(item.get(name), str):
            yield str(item[name]), dict(item), f"{path}.{items}[{at}].{name}"


def _settings_in(settings: Json, path: str) -> Iterator[_Said]:
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        # None is how a setting is left out, and '' is told of beside other values.
        if not is_empty(value) and isinstance(value, str | int):
            yield setting_name(str(name)), str(value), f"{path}.settings.{name}"


def _lines_in(text: Json, path: str) -> Iterator[_Said]:
    for line in str(text or "").splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and name[:1] not in ("#", ";"):
            yield setting_name(name.strip()), " ".join(value.split()), f"{path}.text"


def _taints_in(taints: Json) -> Iterator[_Said]:
    for at, taint in enumerate(_list_of(taints)):
        if isinstance(taint, Mapping):
            name = f"the taint {taint.get('key')}:{taint.get('effect')}"
            yield name, taint.get("value") or "", f"spec.taints[{at}]"


def _empty_in(value: Json, field: str) -> Iterator[Complaint]:
    """List texts and lists without anything in them; a table without a setting says nothing."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _empty_in(item, f"{field}.{name}")
    elif isinstance(value, str | list) and not value:
        problem = "is empty, and would reach no machine"
        yield Complaint(field, problem, "leave it out: containerd has its own default then")


def _toml_of(text: Json) -> Json:
    try:
        return tomllib.loads(text) if isinstance(text, str) else None
    except tomllib.TOMLDecodeError:
        return None  # told by the parser


def _list_of(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []
