"""What another platform changes is found once for all pools, and is what each would find alone."""

from dataclasses import replace
from typing import Any

import pytest

from fairlead.answers.words import LeafClass
from fairlead.controller.observe import PoolDocuments, with_fixes_read
from fairlead.proposal.leaves import in_place_differences, platform_differences, pool_differences
from fairlead.rollout.fixes import NO_FIXES, Fixes
from pool_documents import platform_document, pool_document
from transitions.pool_worlds import settled_world

STUBS: tuple[dict[str, Any], ...] = (
    {},
    {"stub": {"endpoint": "https://one.test"}},
    {"stub": {"endpoint": "https://two.test"}},
    {"stopEverything": True},
    {"stub": "no mapping"},
)


@pytest.mark.parametrize("before", STUBS[:4])
@pytest.mark.parametrize("after", STUBS)
def test_differences_in_place_are_those_of_both_documents(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    # The last three are one pool by ==, and three by what they say.
    pools = [pool_document(), *(pool_document(replicas=count) for count in (7, 1, True, 1.0))]
    platforms = platform_document(**before), platform_document(**after)
    for old in pools:
        for new in pools:
            found = in_place_differences(
                PoolDocuments(pool=old, platform=platforms[0]),
                PoolDocuments(pool=new, platform=platforms[1]),
            )
            expected = pool_differences(old, new)
            if after != STUBS[4]:
                expected += platform_differences(*platforms)
            kept = [leaf for leaf in expected if leaf.leaf_class is LeafClass.IN_PLACE]
            assert list(found) == sorted(kept, key=lambda leaf: leaf.leaf)


@pytest.mark.parametrize("length", [100, 20_000, 2_000_000])
def test_platforms_that_differ_at_their_end_alone_are_told_apart(length: int) -> None:
    ends = {}
    for end in "ab":
        stub = {"endpoint": "https://one.test", "ca": "C" * length + end}
        before, after = platform_document(), platform_document(stub=stub)
        found = in_place_differences(
            PoolDocuments(pool=pool_document(), platform=before),
            PoolDocuments(pool=pool_document(), platform=after),
        )
        ends[end] = {leaf.leaf: str(leaf.after)[-1] for leaf in found}

    assert ends == {
        "a": {"platform.stub.ca": "a", "platform.stub.endpoint": "t"},
        "b": {"platform.stub.ca": "b", "platform.stub.endpoint": "t"},
    }


def test_a_look_at_many_pools_asks_once_what_is_published() -> None:
    asked: list[None] = []

    def read() -> Fixes:
        asked.append(None)
        return NO_FIXES

    world = with_fixes_read(replace(settled_world().world(), read_fixes=read))
    assert [world.read_fixes() for _ in range(3)] == [NO_FIXES] * 3
    assert len(asked) == 1
