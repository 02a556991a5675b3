"""
Flip leaves at random: the platform's never roll, the owner's roll once, and each is named.

Preview equals action: what a preview shows for a random edit is what then happens, all of it.
"""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.answers.words import ChangeClass, LeafClass
from fairlead.controller.reconcile import preview
from fairlead.decision.decide import decide
from fairlead.decision.decision import ChangedIntent, HoldPlatformChange, ReplaceMachines
from fairlead.decision.held import held_changes
from fairlead.inputs.leaf import Json
from fairlead.inputs.registry import REGISTRY
from fairlead.revision.difference import difference_of
from fairlead.revision.hashing import revision_of
from pool_documents import leaves_of
from transitions.pool_worlds import POOL, edit, edit_platform, settled_world, template_writes
from transitions.test_hypershift_cases import INTENT_EDITS, PLATFORM_EDITS

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)

# Values that the node contract accepts wherever it looks at a leaf.
SUBLEAVES = {
    "config.kubelet.*": "config.kubelet.clusterDomain",
    "config.files.*": "config.files./etc/any",
    "config.mirrors.*": "config.mirrors.registry.example",
}
LISTS = ("proxy.noProxy", "platform.noProxy", SUBLEAVES["config.mirrors.*"])


def flippable(leaf_class: LeafClass) -> list[str]:
    rows = [row.path for row in REGISTRY if row.leaf_class is leaf_class]
    return [SUBLEAVES.get(path, path.replace("*", "any")) for path in rows]


def flipped(leaves: dict[str, Json], leaf: str, number: int) -> dict[str, Json]:
    value: Json = f"flip-{number}"
    if leaf in LISTS:
        value = [value]
    elif leaf == SUBLEAVES["config.files.*"]:
        value = {"contentBase64": "", "mode": f"0{number % 8}44"}
    return leaves | {leaf: value}


def flip(leaf_class: LeafClass, count: int) -> list[tuple[str, Any]]:
    leaves = dict(leaves_of())
    running = revision_of(leaves)
    paths = flippable(leaf_class)
    found = []
    for number in range(count):
        leaf = paths[number % len(paths)]
        wanted = revision_of(flipped(leaves, leaf, number))
        held = held_changes(difference_of(running, wanted).platform, {}, (), NOON)
        found.append((leaf, decide(running, wanted, held)))
    return found


def assert_platform_flips_are_held(count: int) -> None:
    for leaf, decision in flip(LeafClass.PLATFORM, count):
        assert isinstance(decision, HoldPlatformChange), leaf
        assert [held.leaf for held in decision.held] == [leaf]


def assert_intent_flips_replace(count: int) -> None:
    for leaf, decision in flip(LeafClass.INTENT, count):
        assert isinstance(decision, ReplaceMachines), leaf
        assert isinstance(decision.because, ChangedIntent)
        assert [change.leaf for change in decision.because.changes] == [leaf]


def assert_previews_are_kept(count: int, seed: int) -> None:
    """Random edits of one world: what is shown is what happens."""
    draw = random.Random(seed)
    edits = [(edit, spec) for spec in INTENT_EDITS.values()]
    edits += [(edit_platform, spec) for spec in PLATFORM_EDITS.values()]
    edits += [(edit, {"replicas": number}) for number in range(1, 4)]
    edits += [(edit, {"labels": {"team": name}}) for name in "ab"]
    edits += [(edit, {"config": None}), (edit, {"proxy": None}), (edit, {"endpoint": None})]
    world = settled_world(replicas=2)
    for _ in range(count):
        change, spec = draw.choice(edits)
        change(world, **spec)
        pointed, known, gone = template_writes(world), set(world.living), set(world.gone)
        shown = preview(POOL, world.world(), world.clock.now).shown

        world.settle()

        replaced = shown.change is ChangeClass.REPLACE
        assert template_writes(world) - pointed == int(replaced), spec
        assert set(world.living) & known == known - (set(world.gone) - gone)
        if replaced:
            assert set(world.gone) - gone >= set(shown.machines), spec
            assert not set(world.living) & known
        elif "replicas" not in spec:
            assert set(world.living) == known, spec


def test_no_flip_of_a_platform_leaf_replaces_a_machine() -> None:
    assert_platform_flips_are_held(2_000)


def test_every_flip_of_an_intent_leaf_replaces_machines_and_is_named() -> None:
    assert_intent_flips_replace(1_000)


def test_what_a_preview_shows_is_what_happens() -> None:
    assert_previews_are_kept(150, seed=4)


@pytest.mark.slow
def test_no_flip_of_a_hundred_thousand_replaces_a_machine() -> None:
    assert_platform_flips_are_held(100_000)


@pytest.mark.slow
def test_every_flip_of_ten_thousand_replaces_machines_and_is_named() -> None:
    assert_intent_flips_replace(10_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_ten_thousand_previews_show_is_what_happens(seed: int) -> None:
    assert_previews_are_kept(2_500, seed)
