"""Promises of the hotfix pointer over all files."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.contract.hotfix.pointer import (
    parse_pointer,
    render_pointer,
    resolution_of,
)
from fairlead.contract.image_version import base_of, may_upgrade

CHARACTERS = st.sampled_from('0129. v-+\n\0"\\\u00a0\u00b2\u0663\x1c\ud800')
NUMBERS = st.sampled_from(["202604", "202605", "01", "1", "10", "0", "3", "007"])
VERSIONS = st.one_of(
    st.builds("{}.{}.{}".format, NUMBERS, NUMBERS, NUMBERS),
    st.text(CHARACTERS, max_size=12),
    st.sampled_from(["dev", "", "..", " 202604.01.0 ", "202604.01.1-rc1"]),
)
BASES = st.one_of(VERSIONS.map(lambda version: base_of(version) or version), VERSIONS)
POINTERS = st.fixed_dictionaries(
    {},
    optional={
        "version": VERSIONS,
        "scripts_version": VERSIONS,
        "hotfixes": st.dictionaries(BASES, st.one_of(VERSIONS, st.none()), max_size=4),
        "future": st.one_of(st.integers(), st.dictionaries(st.text(CHARACTERS), st.floats())),
    },
)


@given(st.one_of(POINTERS.map(json.dumps).map(str.encode), st.binary(max_size=80)), VERSIONS)
@settings(max_examples=examples(500))
def test_no_pointer_raises_and_an_upgrade_is_always_a_higher_patch(
    text: bytes, current: str
) -> None:
    pointer = parse_pointer(text)
    resolution = resolution_of(pointer, current)

    if pointer.problem:
        assert resolution.resolved == ""
    if resolution.upgrade:
        mine, theirs = (version.strip().split(".") for version in (current, resolution.resolved))
        assert [int(part) for part in mine[:2]] == [int(part) for part in theirs[:2]]
        assert int(theirs[2]) > int(mine[2])


@given(POINTERS, VERSIONS)
@settings(max_examples=examples(300))
def test_a_map_denies_every_base_it_does_not_name(document: dict[str, Any], current: str) -> None:
    pointer = parse_pointer(json.dumps(document).encode())

    if pointer.hotfixes and base_of(current) not in pointer.hotfixes:
        assert resolution_of(pointer, current).resolved == ""


@given(POINTERS, st.dictionaries(BASES, st.one_of(VERSIONS, st.none()), max_size=4))
@settings(max_examples=examples(300))
def test_a_rewrite_changes_the_map_and_nothing_else(
    document: dict[str, Any], hotfixes: dict[str, str | None]
) -> None:
    before = parse_pointer(json.dumps(document).encode())
    served = parse_pointer(json.dumps({"hotfixes": hotfixes}).encode()).hotfixes

    after = parse_pointer(render_pointer(before, served))

    if not after.problem:
        assert after.hotfixes == served
        assert after.version == before.version
        assert after.scripts_version == before.scripts_version
        assert after.others == before.others


@given(VERSIONS, VERSIONS)
@settings(max_examples=examples(300))
def test_two_versions_never_upgrade_to_each_other(one: str, other: str) -> None:
    assert not (may_upgrade(one, other) and may_upgrade(other, one))
