"""
NodePool and PlatformConfig documents to values, by the registry's table.

What the owner wrote is parsed in two parts that fail apart: a typo in a configuration document
makes the intent unusable, and replicas can still be changed. A field that no row names is kept
as an unknown leaf; whether to refuse it is the caller's choice.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from fairlead.answers.words import LeafClass, Severity
from fairlead.errors import InputError
from fairlead.inputs.configuration import configuration_leaves
from fairlead.inputs.leaf import (
    Json,
    Leaf,
    Leaves,
    Problem,
    Unusable,
)
from fairlead.inputs.platform_inputs import PLATFORM, ChangeNotice, PlatformInputs, Stub
from fairlead.inputs.registry import REGISTRY, class_of, is_platform_path
from fairlead.inputs.shape import is_empty, kind_of, mapping_of, pruned
from fairlead.inputs.spelled import Spelled
from fairlead.inputs.user_intent import UserIntent

API_VERSION = "fairlead.dev/v1alpha1"
UNKNOWN = "platform.unknown."

# What a platform is that nobody has declared.
NO_PLATFORM: Mapping[str, Json] = {
    "apiVersion": API_VERSION,
    "kind": "PlatformConfig",
    "metadata": {"name": "platform"},
    "spec": {},
}

# A pool's name is part of names of secrets and machines, and Kubernetes allows 63 characters.
LONGEST_NAME = 51
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)

# In the registry, yet not a field that an owner writes: configuration comes as documents, and
# what a name points to is looked up.
_COMPUTED = ("config.", "pullSecret.content", "trustBundle.content", "platform.code.")
_WRITTEN = tuple(row for row in REGISTRY if not row.path.startswith(_COMPUTED))


def pool_rows() -> tuple[Leaf, ...]:
    """Return the rows that an owner writes in a NodePool document, except `config`."""
    return tuple(row for row in _WRITTEN if not is_platform_path(row.path))


def platform_rows() -> tuple[Leaf, ...]:
    """Return the rows that the platform writes in a PlatformConfig document."""
    return tuple(row for row in _WRITTEN if is_platform_path(row.path))


# Rows by path, and every path that has some below it.
_Table = tuple[Mapping[str, Leaf], frozenset[str]]


def _table_of(rows: tuple[Leaf, ...]) -> _Table:
    paths = {row.path: row for row in rows}
    parents = (path[:at] for path in paths for at, letter in enumerate(path) if letter == ".")
    return paths, frozenset(parents)


_POOL_TABLE = _table_of(pool_rows())
_PLATFORM_TABLE = _table_of(platform_rows())


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool:
    """One pool as its owner declares it. `unknown` holds fields that no row names."""

    name: str
    intent: UserIntent | Unusable
    settings: Leaves | Unusable
    unknown: Leaves = field(default_factory=dict)


def parse_node_pool(document: Json) -> NodePool:
    """Return the pool. Raises InputError only if it is no NodePool or has no usable name."""
    name, spec = _header_of(document, "NodePool")
    reading = _Reading(_POOL_TABLE)
    rest = {key: value for key, value in spec.items() if key != "config"}
    reading.read(rest, "")
    try:
        reading.leaves |= configuration_leaves(spec.get("config") or [], "spec.config")
    except InputError as error:
        reading.complain(LeafClass.INTENT, error)
    return NodePool(
        name=name,
        intent=_intent_of(reading),
        settings=reading.half(LeafClass.IN_PLACE),
        unknown={UNKNOWN + path: value for path, value in reading.unknown.items()},
    )


def parse_platform_config(document: Json) -> PlatformInputs:
    """Return the platform inputs. Raises InputError by field; unknown fields become leaves."""
    return _parse_platform(Spelled(document))


# Every pass over every pool reads the same document.
@lru_cache(maxsize=8)
def _parse_platform(spelled: Spelled) -> PlatformInputs:
    _, spec = _header_of(spelled.value, "PlatformConfig")
    reading = _Reading(_PLATFORM_TABLE)
    reading.read(spec, PLATFORM)
    for problems in reading.problems.values():
        raise InputError(problems[0].text, field=problems[0].field)
    leaves = reading.leaves
    return PlatformInputs(
        leaves={
            **{path: leaves[path] for path in leaves if class_of(path) is LeafClass.PLATFORM},
            **{UNKNOWN + path: value for path, value in reading.unknown.items()},
        },
        notices=_notices_of(leaves),
        stub=Stub(
            endpoint=str(leaves.get("platform.stub.endpoint", "")),
            ca=str(leaves.get("platform.stub.ca", "")),
            proxy=str(leaves.get("platform.stub.proxy", "")),
            report=str(leaves.get("platform.stub.report", "")),
        ),
        is_stopped=leaves.get("platform.stopEverything") is True,
        control_plane_version=str(leaves.get("platform.controlPlaneVersion", "")),
    )


def is_stopped(document: Json) -> bool:
    """Say whether the kill switch is on, also in a document that cannot be used otherwise."""
    spec = document.get("spec") if isinstance(document, Mapping) else None
    return isinstance(spec, Mapping) and spec.get("stopEverything") is True


def unknown_fields(pool: NodePool) -> tuple[str, ...]:
    """Return the fields that no row names, for a caller that wants to refuse them."""
    return tuple(path.removeprefix(UNKNOWN) for path in pool.unknown)


class _Reading:
    """What was found so far in one document."""

    def __init__(self, table: _Table) -> None:
        self.rows, self.parents = table
        self.leaves: dict[str, Json] = {}
        self.unknown: dict[str, Json] = {}
        self.problems: dict[LeafClass, list[Problem]] = {}

    def read(self, mapping: Mapping[str, Json], prefix: str) -> None:
        for name, value in mapping.items():
            if not is_empty(value):
                # YAML allows names that are no text (1, true); no row has such a name.
                self._read_field(f"{prefix}{name}", value)

    def _read_field(self, path: str, value: Json) -> None:
        family = self.rows.get(path + ".*")
        if row := self.rows.get(path):
            self._read_leaf(row, path, value)
        elif family and isinstance(value, Mapping):
            for name, item in value.items():
                self._read_leaf(family, f"{path}.{name}", item)
        elif path in self.parents and isinstance(value, Mapping):
            self.read(value, path + ".")
        elif path in self.parents:
            error = InputError(f"found {kind_of(value)}, expected a mapping", field=written(path))
            self.complain(self._class_below(path), error)
        else:
            self.unknown[path] = pruned(value)

    def _read_leaf(self, row: Leaf, path: str, value: Json) -> None:
        is_text = row.shape.keeps_empty and value == ""
        if is_empty(value) and not is_text:
            return
        try:
            parsed = row.shape.parse(value, written(path))
        except InputError as error:
            self.complain(row.leaf_class, error)
            return
        if is_text or not is_empty(parsed):
            self.leaves[path] = parsed

    def _class_below(self, path: str) -> LeafClass:
        return next(
            row.leaf_class for name, row in self.rows.items() if name.startswith(path + ".")
        )

    def complain(self, leaf_class: LeafClass, error: InputError) -> None:
        hint = f" ({error.hint})" if error.hint else ""
        problem = Problem(error.field, error.problem + hint)
        self.problems.setdefault(leaf_class, []).append(problem)

    def half(self, leaf_class: LeafClass) -> Leaves | Unusable:
        if problems := self.problems.get(leaf_class):
            return Unusable(tuple(problems))
        return {path: value for path, value in self.leaves.items() if class_of(path) is leaf_class}


def written(path: str) -> str:
    """Return a leaf's path as it stands in its document."""
    return "spec." + path.removeprefix(PLATFORM)


def _header_of(document: Json, kind: str) -> tuple[str, Mapping[str, Json]]:
    if not isinstance(document, Mapping):
        raise InputError(f"found {kind_of(document)}, expected a {kind} document")
    for field_name, expected in (("apiVersion", API_VERSION), ("kind", kind)):
        found = document.get(field_name)
        if found != expected:
            raise InputError(f"found {kind_of(found)}, expected {expected}", field=field_name)
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InputError(
            f"found {kind_of(name)}, expected a name",
            field="metadata.name",
            hint=f"lower-case letters, digits and -, at most {LONGEST_NAME}",
        )
    spec = document.get("spec") or {}
    if not isinstance(spec, Mapping):
        raise InputError(f"found {kind_of(spec)}, expected a mapping", field="spec")
    return name, spec


def _intent_of(reading: _Reading) -> UserIntent | Unusable:
    leaves = reading.half(LeafClass.INTENT)
    if isinstance(leaves, Unusable):
        return leaves
    if "release.version" not in leaves:
        return Unusable((Problem("spec.release.version", "is not set"),))
    return UserIntent(leaves)


def _notices_of(leaves: Leaves) -> dict[str, ChangeNotice]:
    found: dict[str, ChangeNotice] = {}
    prefix = "platform.notices."
    for path, value in leaves.items():
        if not path.startswith(prefix):
            continue
        name = path.removeprefix(prefix)
        where = f"spec.notices.{name}"
        fields = mapping_of(value, where, ("id", "owner", "severity"))
        found[PLATFORM + name] = ChangeNotice(
            id=str(fields.get("id", "")),
            owner=str(fields.get("owner", "")),
            severity=_severity_of(fields.get("severity"), f"{where}.severity"),
        )
    return found


def _severity_of(value: Json, path: str) -> Severity | None:
    if value is None:
        return None
    names = [severity.value for severity in Severity]
    if value not in names:
        raise InputError(f"found {kind_of(value)}, expected {', '.join(names)}", field=path)
    return Severity(value)
