"""
The judge of documents that people send: all that is wrong with one, by field.

It is stricter than the parser of what runs: a field that nobody knows is drift for a running pool
and a mistake for the person who wrote it. What a kubelet would refuse to start with is refused
here, because it would fail on every machine.
"""

import copy
from collections.abc import Callable, Iterator, Mapping

from fairlead.agent.steps.kubelet.labels import render_labels, require_taints
from fairlead.contract.canonical import canonical_bytes
from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_settings import (
    KUBELET_API,
    KUBELET_OURS,
    OVERRIDES,
    SSH_KEYS,
    override_of,
    ssh_keys_of,
)
from fairlead.errors import InputError
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Json, Unusable
from fairlead.inputs.parse import (
    API_VERSION,
    UNKNOWN,
    NodePool,
    parse_platform_config,
    platform_rows,
    pool_rows,
    unknown_fields,
    written,
)
from fairlead.inputs.registry import why_not_carried_out
from fairlead.inputs.shape import is_empty, kind_of
from fairlead.inputs.user_intent import UserIntent
from fairlead.proposal.amounts import (
    excessive_config,
    excessive_platform,
    excessive_rest,
    excessive_settings,
)
from fairlead.proposal.complaint import Complaint
from fairlead.proposal.hint import UNKNOWN_FIELD, close_name, field_hint
from fairlead.proposal.left_out import left_out
from fairlead.proposal.machine_steps import refused_by_steps
from fairlead.proposal.versions import CONTROL_PLANE_FIELD, malformed
from fairlead.proposal.written_values import bent_documents, bent_texts, idle_texts
from fairlead.rollout.machines import NodeSettings, taints_text
from fairlead.rollout.policy import policy_of
from fairlead.rollout.window import FindZone

NODE_POOL = "NodePool"
PLATFORM_CONFIG = "PlatformConfig"

TOP_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
METADATA_FIELDS = ("name", "namespace", "labels", "annotations")

KUBELET_CONFIGURATION = "KubeletConfiguration"
KUBELET_HEADER = ("apiVersion", "kind", "metadata")


def judge(document: Json, find_zone: FindZone, live: Json = None) -> tuple[Complaint, ...]:
    """
    Return everything that is wrong with a document that somebody wants in force.

    live: what it takes the place of, or None. What only this judge is strict about goes on there.
    """
    found = _complaints(document, find_zone)
    spared = frozenset(_complaints(live, find_zone)) if found and live is not None else frozenset()
    return tuple(one for one in found if not (one.is_strict and one in spared))


def _complaints(document: Json, find_zone: FindZone) -> tuple[Complaint, ...]:
    if not isinstance(document, Mapping):
        expected = "expected a document with kind and spec"
        return (Complaint("", f"found {kind_of(document)}, {expected}", is_strict=False),)
    try:
        canonical_bytes(document)
    except InputError as error:
        # Nobody could write another document over it: it has no digest.
        return (Complaint(error.field, error.problem, error.hint, is_strict=False),)
    found = [*_unknown_names(document, TOP_FIELDS, "")]
    kind = document.get("kind")
    if kind == NODE_POOL:
        found += _pool_complaints(document, find_zone)
    elif kind == PLATFORM_CONFIG:
        found += _platform_complaints(document)
    else:
        kinds = (NODE_POOL, PLATFORM_CONFIG)
        problem = f"found {kind_of(kind)}, expected {' or '.join(kinds)}"
        found.append(Complaint("kind", problem, close_name(str(kind), kinds)))
    metadata = document.get("metadata")
    if isinstance(metadata, Mapping):
        found += _unknown_names(metadata, METADATA_FIELDS, "metadata.")
    return tuple(found)


def title_of(document: Json) -> str:
    """Return kind and name of a document, as NodePool/workers; there is one platform."""
    if not isinstance(document, Mapping):
        return ""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{document.get('kind')}/{name}"


def _unknown_names(
    mapping: Mapping[str, Json], names: tuple[str, ...], prefix: str
) -> Iterator[Complaint]:
    for name in mapping:
        if name not in names:
            hint = close_name(str(name), names)
            yield Complaint(f"{prefix}{name}", UNKNOWN_FIELD, hint, is_name=True)


def _pool_complaints(document: Mapping[str, Json], find_zone: FindZone) -> Iterator[Complaint]:
    trial, header = _parsable(document, declared_pool)
    yield from header
    pool = declared_pool(trial)
    for path in unknown_fields(pool):
        hint = field_hint(path, pool_rows(), ("config",))
        yield Complaint(written(path), UNKNOWN_FIELD, hint, is_name=True)
    for half in (pool.intent, pool.settings):
        if isinstance(half, Unusable):
            yield from (
                Complaint(problem.field, problem.text, is_strict=False) for problem in half.problems
            )
    yield from excessive_rest(document)
    yield from _kubelet_complaints(document)
    yield from bent_documents(document.get("spec"))
    yield from left_out(document.get("spec"))
    yield from _key_complaints(pool)
    yield from _idle_complaints(pool)
    if isinstance(pool.intent, UserIntent):
        yield from bent_texts(pool.intent.leaves)
        yield from idle_texts(pool.intent.leaves)
        yield from malformed(str(pool.intent.leaves["release.version"]))
        yield from excessive_config(pool.intent.leaves)
        yield from refused_by_steps(document.get("spec"), pool.intent.leaves)
    if isinstance(pool.settings, Unusable):
        return
    yield from excessive_settings(pool.settings)
    try:
        yield from _setting_complaints(policy_of(pool.settings, find_zone).settings)
    except InputError as error:
        yield Complaint(error.field, error.problem, error.hint, is_strict=False)


def _key_complaints(pool: NodePool) -> Iterator[Complaint]:
    leaves = {} if isinstance(pool.intent, Unusable) else pool.intent.leaves
    try:
        ssh_keys_of(NodeConfig({}, {SSH_KEYS: leaves.get(SSH_KEYS, [])}))
    except InputError as error:
        yield Complaint(written(SSH_KEYS), error.problem, error.hint)


def _idle_complaints(pool: NodePool) -> Iterator[Complaint]:
    for half in (pool.intent, pool.settings):
        leaves = {} if isinstance(half, Unusable) else half
        leaves = leaves.leaves if isinstance(leaves, UserIntent) else leaves
        for path in leaves:
            if why := why_not_carried_out(path):
                yield Complaint(written(path), why)


def _platform_complaints(document: Mapping[str, Json]) -> Iterator[Complaint]:
    trial, found = _parsable(document, parse_platform_config)
    yield from found
    platform = parse_platform_config(trial)
    leaves = platform.leaves
    yield from bent_texts(leaves)
    yield from excessive_platform(leaves)
    if platform.control_plane_version:
        yield from malformed(platform.control_plane_version, CONTROL_PLANE_FIELD)
    for leaf in leaves:
        if leaf.startswith(UNKNOWN):
            path = leaf.removeprefix(UNKNOWN)
            hint = field_hint(path, platform_rows())
            yield Complaint(written(path), UNKNOWN_FIELD, hint, is_name=True)
        elif leaf.startswith(OVERRIDES):
            yield from _override_complaints(leaf, leaves[leaf])


def _override_complaints(leaf: str, value: Json) -> Iterator[Complaint]:
    try:
        override_of(leaf.removeprefix(OVERRIDES), value)
    except InputError as error:
        yield Complaint(written(leaf), error.problem, error.hint)


def _kubelet_complaints(document: Mapping[str, Json]) -> Iterator[Complaint]:
    spec = document.get("spec")
    configs = spec.get("config") if isinstance(spec, Mapping) else None
    for at, config in enumerate(configs if isinstance(configs, list | tuple) else ()):
        if not isinstance(config, Mapping) or config.get("kind") != KUBELET_CONFIGURATION:
            continue
        api = config.get("apiVersion")
        if not is_empty(api) and api != KUBELET_API:
            problem = f"found {kind_of(api)}, expected {KUBELET_API}"
            yield Complaint(f"spec.config[{at}].apiVersion", problem, "the file is written for it")
        fields = {name: item for name, item in config.items() if name not in KUBELET_HEADER}
        for name in fields.keys() & KUBELET_OURS.keys():
            problem = f"is not the owner's to set: {KUBELET_OURS[name]}"
            yield Complaint(f"spec.config[{at}].{name}", problem, "leave it out")


def _setting_complaints(settings: NodeSettings) -> Iterator[Complaint]:
    for name, value in settings.labels.items():
        try:
            render_labels({name: value})
        except InputError as error:
            yield Complaint(f"spec.labels.{name}", error.problem, error.hint)
    for at, taint in enumerate(settings.taints):
        field = f"spec.taints[{at}]"
        try:
            require_taints(taints_text([taint]), field)
        except InputError:
            hint = "the key is [domain/]name, the value letters, digits, '-', '_' or '.'"
            yield Complaint(field, "not a taint that a kubelet takes", hint)


# What takes the place of a header that cannot be used, so that the rest is judged as well.
_STAND_INS: Mapping[str, tuple[str, Json]] = {
    "apiVersion": ("apiVersion", API_VERSION),
    "metadata.name": ("metadata", {"name": "pool"}),
    "spec": ("spec", {}),
}


def _parsable(
    document: Mapping[str, Json], parse: Callable[[Json], object]
) -> tuple[dict[str, Json], list[Complaint]]:
    """Return the document without what the parser refuses as a whole, and what that was."""
    trial = dict(document)
    found: list[Complaint] = []
    while True:
        try:
            parse(trial)
        except InputError as error:
            trial = copy.deepcopy(trial)
            found.append(Complaint(error.field, error.problem, error.hint, is_strict=False))
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
        rest = path.removeprefix(str(name))
        if len(rest) == len(path) or rest[:1] not in ("", ".", "["):
            continue
        if rest.startswith(".") and isinstance(item, dict):
            return _remove(item, rest[1:])
        del mapping[name]
        return True
    return False
