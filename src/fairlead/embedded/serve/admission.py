"""
Documents as people send them, held to rules that a pool that runs is not.

A field that nobody knows is drift for a running pool and a mistake for the person who wrote it.
What a kubelet would refuse to start with is refused here: it would fail on every machine.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairlead.agent.steps.kubelet.labels import render_labels, require_taints
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Leaf, Unusable
from fairlead.inputs.parse import (
    UNKNOWN,
    NodePool,
    parse_node_pool,
    parse_platform_config,
    platform_rows,
    pool_rows,
    unknown_fields,
    written,
)
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.registry import WILDCARD
from fairlead.inputs.shape import kind_of
from fairlead.payload.answer import taints_text
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.policy import policy_of

NODE_POOL = "NodePool"
PLATFORM_CONFIG = "PlatformConfig"

TOP_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
METADATA_FIELDS = ("name", "namespace", "labels", "annotations")


@dataclass(frozen=True, slots=True)
class Declared:
    """One document that may be written."""

    kind: str
    name: str
    document: Mapping[str, Json]

    @property
    def title(self) -> str:
        """Its kind and name, as NodePool/workers."""
        return f"{self.kind}/{self.name}"


# The document of a pool that exists, or None.
FindPool = Callable[[str], Json | None]


def admitted(documents: Sequence[Json], find_pool: FindPool) -> tuple[Declared, ...]:
    """Return the documents, each in order. Raises InputError by field for the first that is not."""
    found: dict[str, Declared] = {}
    for at, document in enumerate(documents):
        try:
            declared = _admit(document, find_pool)
        except InputError as error:
            raise _placed(error, document, at, len(documents)) from error
        # There is one platform, whatever its document is called.
        key = declared.kind if declared.kind == PLATFORM_CONFIG else declared.title
        if key in found:
            raise InputError(f"there are two documents {key}", field="metadata.name")
        found[key] = declared
    return tuple(found.values())


def _placed(error: InputError, document: Json, at: int, count: int) -> InputError:
    """Return the error with the name of its document, if there are several."""
    if count == 1:
        return error
    title = f"document {at + 1}"
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    if isinstance(metadata, Mapping) and isinstance(document, Mapping):
        title = f"{document.get('kind')}/{metadata.get('name')}"
    return InputError(f"{title}: {error.problem}", field=error.field, hint=error.hint)


def _admit(document: Json, find_pool: FindPool) -> Declared:
    if not isinstance(document, Mapping):
        raise InputError(f"found {kind_of(document)}, expected a document with kind and spec")
    kind = document.get("kind")
    if kind not in (NODE_POOL, PLATFORM_CONFIG):
        expected = f"{NODE_POOL} or {PLATFORM_CONFIG}"
        raise InputError(f"found {kind_of(kind)}, expected {expected}", field="kind")
    _refuse_unknown(document, TOP_FIELDS, "")
    name = _admit_pool(document, find_pool) if kind == NODE_POOL else _admit_platform(document)
    metadata = document["metadata"]
    if isinstance(metadata, Mapping):
        _refuse_unknown(metadata, METADATA_FIELDS, "metadata.")
    return Declared(str(kind), name, document)


def _admit_pool(document: Mapping[str, Json], find_pool: FindPool) -> str:
    pool = parse_node_pool(document)
    for path in unknown_fields(pool):
        raise _unknown_field(path, pool_rows(), ("config",))
    for half in (pool.intent, pool.settings):
        if isinstance(half, Unusable):
            raise _problems_of(half)
    if isinstance(pool.settings, Unusable):  # refused above
        return pool.name
    _refuse_settings(policy_of(pool.settings).settings)
    known = find_pool(pool.name)
    if known is not None and _is_in_place(parse_node_pool(known)) != _is_in_place(pool):
        raise InputError(
            "a pool that exists cannot change from or to InPlace",
            field="spec.management.type",
            hint="make another pool, then delete this one",
        )
    return pool.name


def _admit_platform(document: Mapping[str, Json]) -> str:
    for leaf in parse_platform_config(document).leaves:
        if leaf.startswith(UNKNOWN):
            raise _unknown_field(leaf.removeprefix(UNKNOWN), platform_rows(), ())
    metadata = document["metadata"]
    return str(metadata["name"]) if isinstance(metadata, Mapping) else ""


def _is_in_place(pool: NodePool) -> bool:
    settings = pool.settings
    return not isinstance(settings, Unusable) and settings.get("management.type") == "InPlace"


def _refuse_settings(settings: NodeSettings) -> None:
    for name, value in settings.labels.items():
        try:
            render_labels({name: value})
        except InputError as error:
            field = f"spec.labels.{name}"
            raise InputError(error.problem, field=field, hint=error.hint) from error
    for at, taint in enumerate(settings.taints):
        field = f"spec.taints[{at}]"
        try:
            require_taints(taints_text([taint]), field)
        except InputError as error:
            hint = "the key is [domain/]name, the value letters, digits, '-', '_' or '.'"
            raise InputError("not a taint that a kubelet takes", field=field, hint=hint) from error


def _problems_of(unusable: Unusable) -> InputError:
    first, *rest = unusable.problems
    told = "; ".join(str(problem) for problem in rest)
    return InputError(first.text, field=first.field, hint=f"also {told}" if told else "")


def _refuse_unknown(mapping: Mapping[str, Json], names: tuple[str, ...], prefix: str) -> None:
    for name in mapping:
        if name not in names:
            hint = _suggestion(str(name), names)
            raise InputError("this field is not known", field=f"{prefix}{name}", hint=hint)


def _unknown_field(path: str, rows: Iterable[Leaf], more: tuple[str, ...]) -> InputError:
    known = [row.path.removesuffix(WILDCARD).removeprefix(PLATFORM) for row in rows]
    short = path.removeprefix(PLATFORM)
    name = short.rpartition(".")[2]
    # The right name in the wrong place is the more likely mistake.
    misplaced = [whole for whole in known if whole.rpartition(".")[2] == name]
    hint = _suggestion(short, (*misplaced, *known, *more))
    if misplaced:
        hint = f"did you mean {written(misplaced[0])}?"
    return InputError("this field is not known", field=written(path), hint=hint)


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}?" if close else ""
