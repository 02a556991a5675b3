"""The platform's half is hashed once for all pools that share it, and taken for no other."""

from typing import Any

import pytest

from fairlead.inputs.leaf import Leaves
from fairlead.inputs.spelled import LARGEST_KEPT
from fairlead.revision import hashing
from fairlead.revision.hashing import CURRENT, Hashes, Scheme, hashes_of, spelled_otherwise
from fairlead.revision.revision import SecretContent
from pool_documents import leaves_of, platform_document, pool_document

CONTENT = {"pullSecret.content": "a", "trustBundle.content": "b"}
PLATFORMS: tuple[dict[str, Any], ...] = (
    {},
    {"cloudConfig": {"replicas": 1}},
    {"cloudConfig": {"replicas": True}},
    {"cloudConfig": {"replicas": "1"}},
    {"cloudConfig": {"text": "x" * LARGEST_KEPT}},
)


def hashes_without_sharing(leaves: Leaves, content: SecretContent, scheme: Scheme) -> Hashes:
    """Return the hashes as they are taken where nothing is remembered."""
    hashing._platform_hash.cache_clear()
    return hashes_of(leaves, content, scheme)


@pytest.mark.parametrize("content", SecretContent)
@pytest.mark.parametrize("scheme", [CURRENT, Scheme(CURRENT.number + 1)])
def test_hashes_are_those_that_each_pool_has_alone(content: SecretContent, scheme: Scheme) -> None:
    fleet = [
        {**leaves_of(pool_document(replicas=count), platform_document(**platform)), **CONTENT}
        for platform in PLATFORMS
        for count in (1, 2)
    ]
    alone = [hashes_without_sharing(leaves, content, scheme) for leaves in fleet]
    hashing._platform_hash.cache_clear()
    assert [hashes_of(leaves, content, scheme) for leaves in fleet] == alone
    assert len({found.platform for found in alone}) == len(PLATFORMS)


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("1", "1", True),
        ("1", "2", False),
        (1, 2, False),
        ("1", 1, False),
        (1, True, False),
        (1, 1.0, False),
        ([1], [1], True),
        ([1], [True], False),
        ({"a": [1]}, {"a": [1.0]}, False),
        (None, "", False),
    ],
)
def test_values_are_compared_by_how_they_are_spelled(
    before: Any, after: Any, *, is_same: bool
) -> None:
    found = spelled_otherwise({"leaf": before}, {"leaf": after})
    assert found == (() if is_same else ("leaf",))
