"""
Any value in any leaf of a pool: refused by its field, or a pool that can be thought about.

The leaves are those of the registry, and the fields of each kind of configuration document: a new
one is tried here without a word. Whatever is admitted is declared, thought about, explained and
planned against; whatever is refused is in force from before there was a judge.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.reconcile import preview
from fairlead.controller.thought import Thought
from fairlead.errors import InputError
from fairlead.inputs.configuration import KINDS
from fairlead.inputs.leaf import Json
from fairlead.inputs.parse import platform_rows, pool_rows
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.proposal.judge import judge
from fairlead.proposal.propose import base_of, propose
from fairlead.rollout.window import utc_only
from fairlead.sim.world import SimWorld
from pool_documents import platform_document, pool_document
from transitions.pool_worlds import POOL, declare, settled_world

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)

# Ends of ranges, what text means elsewhere, half a character. No document can hold NaN.
SCALARS: list[Json] = [
    None, True, False, 0, -1, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, float("inf"),
    "", " ", "x", "\0", "\ud800", "\u202e", "\x1b[31m", "💥", "a\nb", "x" * 70_000, "9" * 5_000,
    "100%", "101%", "00%", "٣%", "0s", "9999999d", "366d", "999999999999999999d", "1h1h",
    "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "2026-02-30T00:00:00Z",
    "../../etc/passwd", "/etc", "v1.34.2", "1.34.2", "1.9999.9999", "latest", "http://a", "é",
    "2026-01-01T00:00:00+23:59:59", "Mars/Phobos", "UTC", "NoSchedule", "22:00", "-", "a.b/c",
]  # fmt: skip
NAMES = st.sampled_from([
    "", "a", "key", "value", "effect", "start", "duration", "zone", "days", "until", "version",
    "path", "content", "contentBase64", "mode", "files", "source", "mirrors", "settings", "text",
    "toml", "plugins", "maxPods", "apiVersion", "net.ipv4.ip_forward", "\ud800",
])  # fmt: skip
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.sampled_from(SCALARS), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)

POOL_LEAVES = sorted({row.path.replace("*", "some") for row in pool_rows()})
PLATFORM_LEAVES = sorted(
    row.path.removeprefix(PLATFORM).replace("*", "some") for row in platform_rows()
)
HEADERS = ("apiVersion", "kind", "metadata.name", "metadata.labels", "status", "spec", "strange")
ALL = examples(500)
QUIET = settings(
    max_examples=ALL,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def put(document: dict[str, Any], path: str, value: Json) -> dict[str, Any]:
    """The document with a value at the path, mappings made on the way."""
    name, dot, rest = path.partition(".")
    below = document.get(name)
    if not dot:
        return {**document, name: value}
    return {**document, name: put(below if isinstance(below, dict) else {}, rest, value)}


def complaints(document: Json) -> int:
    """How much the judge finds; nothing but its own error may come of it."""
    try:
        found = judge(document, utc_only)
    except InputError:
        return 1
    assert all(isinstance(complaint.field, str) and complaint.problem for complaint in found)
    return len(found)


def think(world: SimWorld) -> Thought | Failed:
    return attempt(lambda: preview(POOL, world.world(), NOON))


def look(document: Json, platform: Json = None) -> None:
    """Declare it where another document ran, whether or not the judge would take it."""
    world = settled_world()
    before = len(world.living)
    is_admitted = not complaints(document if platform is None else platform)
    declare(world, document, platform)
    found = think(world)
    if is_admitted:
        assert isinstance(found, Thought), found
        attempt(lambda: propose(world.world(), [document, platform or platform_document()], NOON))
    assert base_of(document)
    assert len(world.living) == before


@QUIET
@given(leaf=st.sampled_from(POOL_LEAVES), value=VALUES)
def test_any_value_in_any_leaf_is_refused_or_thought_about(leaf: str, value: Json) -> None:
    look(put(pool_document(), f"spec.{leaf}", value))


@QUIET
@given(kind=st.sampled_from(sorted(KINDS)), body=st.dictionaries(NAMES, VALUES, max_size=3))
def test_any_configuration_document_is_refused_or_thought_about(
    kind: str, body: dict[str, Json]
) -> None:
    look(pool_document(config=[{**body, "kind": kind}]))


@QUIET
@given(leaf=st.sampled_from(PLATFORM_LEAVES), value=VALUES)
def test_any_value_of_the_platform_is_refused_or_thought_about(leaf: str, value: Json) -> None:
    look(pool_document(), put(platform_document(), f"spec.{leaf}", value))


@QUIET
@given(field=st.sampled_from(HEADERS), value=VALUES)
def test_any_value_beside_the_spec_is_refused_or_means_nothing(field: str, value: Json) -> None:
    complaints(put(pool_document(), field, value))
    complaints(value)


@pytest.mark.parametrize("leaf", POOL_LEAVES)
def test_every_leaf_meets_every_known_evil(leaf: str) -> None:
    for value in SCALARS:
        complaints(put(pool_document(), f"spec.{leaf}", value))


def file(**fields: Json) -> dict[str, Json]:
    return {"kind": "Files", "files": [{"path": "/etc/a", **fields}]}


def documents_with(value: Json) -> list[Json]:
    """A configuration document for each place in one where an owner writes a value."""
    return [
        file(path=value),
        file(content=value),
        file(contentBase64=value),
        file(content="x", mode=value),
        {"kind": "Files", "files": value},
        {"kind": "Mirrors", "mirrors": [{"source": value, "mirrors": ["https://m"]}]},
        {"kind": "Mirrors", "mirrors": [{"source": "docker.io", "mirrors": [value]}]},
        {"kind": "Sysctl", "settings": {"vm.swappiness": value}},
        {"kind": "Sysctl", "settings": value},
        {"kind": "Sysctl", "text": value},
        {"kind": "ContainerdConfiguration", "settings": {"debug": value}},
        {"kind": "ContainerdConfiguration", "settings": {"plugins": {"x": value}}},
        {"kind": "ContainerdConfiguration", "toml": value},
        {"kind": "KubeletConfiguration", "maxPods": value},
        {"kind": "KubeletConfiguration", "evictionHard": {"memory.available": value}},
        {"kind": "KubeletConfiguration", "apiVersion": value},
        {"kind": value},
        value,
    ]


@pytest.mark.parametrize("number", range(len(documents_with(None))))
def test_every_place_of_a_configuration_meets_every_known_evil(number: int) -> None:
    for value in SCALARS:
        document = pool_document(config=[documents_with(value)[number]])
        if not complaints(document):
            world = settled_world()
            declare(world, document)
            assert isinstance(think(world), Thought)
