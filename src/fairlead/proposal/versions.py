"""
Which Kubernetes version a document may ask for, by the policy in inputs/versions.py.

Machines are made anew here, so who knows better says so in `release.allow`.
"""

import re
from collections.abc import Iterator, Mapping

from fairlead.errors import InputError
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Json, Leaves, Unusable
from fairlead.inputs.parse import parse_platform_config
from fairlead.inputs.registry import DOWNGRADE, SKEW
from fairlead.inputs.shape import kind_of
from fairlead.inputs.versions import Minor, back_of, minor_of, skew_of, way_out
from fairlead.proposal.complaint import Complaint

FIELD = "spec.release.version"
CONTROL_PLANE_FIELD = "spec.controlPlaneVersion"

# The kubelet's file says where containerd is; it is read from there since this version.
OLDEST = (1, 27)

_LEADING_ZEROS = re.compile(r"(?<![0-9A-Za-z-])0+(?=[0-9])")


def malformed(version: str, field: str = FIELD) -> Iterator[Complaint]:
    """Say that a version is none, or older than a node can be."""
    minor = minor_of(version)
    if minor is None:
        yield Complaint(field, f"found {kind_of(version)}, expected a version", _hint_for(version))
    elif minor < OLDEST:
        oldest = f"expected {_text(OLDEST)} or newer"
        hint = "older kubelets do not read where containerd is from their file"
        yield Complaint(field, f"found {version}, {oldest}", hint)


def skewed(
    pools: Mapping[str, Json], in_force: Mapping[str, Json], platform: Json, before: Json
) -> Iterator[Complaint]:
    """
    Say what would go beyond the policy, or back.

    pools: what is declared, by name; in_force: what is now. platform: its document as it will be;
    before: as it is. What stays as it is goes on.
    """
    control_plane = _control_plane_of(platform)
    for name, document in pools.items():
        yield from _skewed_pool(document, in_force.get(name), control_plane)
    if control_plane != _control_plane_of(before):
        left = {name: document for name, document in in_force.items() if name not in pools}
        yield from _left_behind(control_plane, left)


def _skewed_pool(document: Json, live: Json, control_plane: str) -> Iterator[Complaint]:
    wanted, allowed = _version_of(document)
    known = _version_of(live)[0] if live is not None else ""
    if wanted == known:
        return
    if SKEW not in allowed and (problem := skew_of(wanted, control_plane)):
        yield Complaint(FIELD, problem, way_out(SKEW))
    if DOWNGRADE not in allowed and (problem := back_of(wanted, known)):
        yield Complaint(FIELD, problem, way_out(DOWNGRADE))


def _left_behind(control_plane: str, pools: Mapping[str, Json]) -> Iterator[Complaint]:
    for name, document in sorted(pools.items()):
        version, allowed = _version_of(document)
        if SKEW not in allowed and (problem := skew_of(version, control_plane)):
            hint = f"bring {name} to another version first"
            yield Complaint(CONTROL_PLANE_FIELD, f"{name}: {problem}", hint)


def _control_plane_of(platform: Json) -> str:
    try:
        return parse_platform_config(platform).control_plane_version
    except InputError:
        return ""  # one that is in force and cannot be used says nothing


def _version_of(document: Json) -> tuple[str, list[Json]]:
    try:
        pool = declared_pool(document)
    except InputError:
        return "", []  # one that is in force and cannot be used keeps nobody else waiting
    leaves: Leaves = {} if isinstance(pool.intent, Unusable) else pool.intent.leaves
    settings: Leaves = {} if isinstance(pool.settings, Unusable) else pool.settings
    allowed = settings.get("release.allow")
    return str(leaves.get("release.version", "")), allowed if isinstance(allowed, list) else []


def _hint_for(version: str) -> str:
    bare = _LEADING_ZEROS.sub("", version.strip().removeprefix("v").removeprefix("V"))
    return f"write {bare}" if minor_of(bare) else "expected MAJOR.MINOR.PATCH, like 1.34.2"


def _text(minor: Minor) -> str:
    return f"{minor[0]}.{minor[1]}"
