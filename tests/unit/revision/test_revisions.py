"""Inputs to revisions: two hashes that share nothing, pinned, and comparable across schemes."""

import dataclasses
import gc
import json
import tracemalloc
from typing import Any

import pytest

from fairlead.answers.words import LeafClass
from fairlead.errors import InputError, InvariantError
from fairlead.revision.difference import difference_of
from fairlead.revision.hashing import HASH_SCHEME, Scheme, hashes_of, revision_of
from fairlead.revision.rebase import ReplayProof, in_words_of, rebase, replay_proof
from fairlead.revision.revision import SecretContent, means_the_same
from pool_documents import leaves_of, make_revision, platform_document, pool_document

RELEASE = {"version": "1.34.2", "digest": "sha256:1111"}


def test_hashes_of_scheme_1_are_pinned_because_a_drift_replaces_every_fleet() -> None:
    # With the code's own inputs of the day they were pinned: what is added is another matter.
    leaves = {**leaves_of(), "platform.code.renderer": 1}
    del leaves["platform.code.fileMode"]
    revision = revision_of(leaves)

    assert HASH_SCHEME == 1, "a new scheme: pin it too, and keep this one for rebase"
    assert (
        revision.intent_hash == "31a9ca18f02891233a2f28b8be44a3c0fde349b4604824289698e9daf2368652"
    )
    assert (
        revision.platform_hash == "99d694cefb79bb6b22256120e639bc313e97efa7fb3bdf276b2362ad3e270228"
    )
    assert revision.id == "29a6a0dd94db2362"


def test_hashes_of_documents_without_an_empty_value_are_pinned() -> None:
    document = {
        "kind": "KubeletConfiguration",
        "maxPods": 50,
        "registryPullQPS": 0,
        "serializeImagePulls": False,
        "evictionHard": {"memory.available": "100Mi"},
        "enforceNodeAllocatable": ["pods"],
        "logging": {"format": "json", "vmodule": [{"filePattern": "a", "verbosity": 1}]},
        "featureGates": None,
    }

    revision = revision_of(leaves_of(pool_document(config=[document])))

    assert (
        revision.intent_hash == "7ae0b7554d453add1efcf7b7155cedf213f546b9ad8a09d46890259b53615059"
    )


EMPTY = {
    "kind": "KubeletConfiguration",
    "maxPods": 50,
    "evictionHard": {},
    "logging": {"format": "json", "options": {}},
}


def test_an_empty_value_of_a_document_in_force_replaces_nothing() -> None:
    """Up to spelling 2 it left no trace; what runs without it goes on."""
    before = {"kind": "KubeletConfiguration", "maxPods": 50, "logging": {"format": "json"}}
    stored = dataclasses.replace(make_revision(pool_document(config=[before])), spelling=2)
    wanted = make_revision(pool_document(config=[EMPTY]))

    assert means_the_same(in_words_of(wanted, stored), wanted)
    assert replay_proof([(stored, wanted)]).broken == ()


def test_an_empty_value_that_an_owner_adds_is_a_change() -> None:
    before = {"kind": "KubeletConfiguration", "maxPods": 50, "logging": {"format": "json"}}
    stored = make_revision(pool_document(config=[before]))
    wanted = make_revision(pool_document(config=[EMPTY]))

    changes = difference_of(in_words_of(wanted, stored), wanted).intent

    assert [change.leaf for change in changes] == [
        "config.kubelet.evictionHard", "config.kubelet.logging",
    ]  # fmt: skip


def test_a_rendered_node_config_is_pinned_because_a_change_needs_a_new_renderer_number() -> None:
    pool = pool_document(
        proxy={"http": "http://p", "noProxy": ["own"]},
        config=[{"kind": "KubeletConfiguration", "maxPods": 50, "registryPullQPS": 0}],
    )

    assert json.loads(make_revision(pool).node_config) == {
        "version": "v1",
        "kubernetes_version": "1.34.2",
        "vm_size": "m5.large",
        "http_proxy_config": {
            "http_proxy": "http://p",
            "no_proxy_entries": [".cluster.local", ".svc", "own"],
        },
        "kubelet_config": {"kubelet_config_file_config": {"maxPods": 50}},
        "api_server_config": {"api_server_name": "10.0.0.4"},
        "kube_proxy_url": "haproxy@sha256:aa",
        "fairlead": {
            "release.digest": "sha256:1111",
            "imageBase": "202607.02",
            "config.kubelet.maxPods": 50,
            "config.kubelet.registryPullQPS": 0,
            "pullSecret.name": "registry-login",
            "platform.proxy.template": "v1",
            "platform.code.renderer": 3,
            "platform.code.fileMode": "0644",
            "platform.code.enableHostsConfigAgent": False,
        },
    }


def test_a_new_renderer_is_drift_and_never_intent() -> None:
    document = {"kind": "KubeletConfiguration", "evictionHard": {}, "maxPods": 50}
    leaves = leaves_of(pool_document(config=[document]))
    stored = revision_of({**leaves, "platform.code.renderer": 1})

    difference = difference_of(stored, revision_of(leaves))

    assert difference.intent == ()
    assert [str(change) for change in difference.platform] == ["platform.code.renderer"]


def test_a_value_that_the_node_contract_refuses_is_named() -> None:
    pool = pool_document(config=[{"kind": "KubeletConfiguration", "maxPods": "many"}])

    with pytest.raises(InputError) as refused:
        make_revision(pool)

    assert refused.value.field == "kubelet_config.kubelet_config_file_config.max_pods"


def test_the_halves_share_nothing() -> None:
    before = make_revision()
    intent = make_revision(pool_document(imageBase="202607.03"))
    platform = make_revision(platform=platform_document(controlPlaneImage="cp@sha256:bb"))

    assert intent.intent_hash != before.intent_hash
    assert intent.platform_hash == before.platform_hash
    assert platform.intent_hash == before.intent_hash
    assert platform.platform_hash != before.platform_hash


def test_a_rebuilt_release_of_the_same_version_is_a_change_of_intent() -> None:
    rebuilt = make_revision(pool_document(release=RELEASE | {"digest": "sha256:2222"}))

    difference = difference_of(make_revision(), rebuilt)

    assert [str(change) for change in difference.intent] == ["release.digest"]
    assert difference.platform == ()


def test_a_difference_names_leaf_owner_and_both_values() -> None:
    change = difference_of(
        make_revision(),
        make_revision(
            platform=platform_document(proxy={"image": "haproxy@sha256:bb", "template": "v1"})
        ),
    ).platform[0]

    assert (change.leaf, change.owner, change.half) == (
        "platform.proxy.image", "networking", LeafClass.PLATFORM,
    )  # fmt: skip
    assert (change.before, change.after) == ("haproxy@sha256:aa", "haproxy@sha256:bb")


def test_text_cannot_move_from_one_leaf_to_the_next() -> None:
    one = make_revision(pool_document(pullSecret={"name": "ab"}, trustBundle={"name": "c"}))
    other = make_revision(pool_document(pullSecret={"name": "a"}, trustBundle={"name": "bc"}))

    assert one.intent_hash != other.intent_hash


@pytest.mark.parametrize(
    ("content", "differs"),
    [
        (SecretContent.IGNORE, (False, False)),
        (SecretContent.DRIFT, (False, True)),
        (SecretContent.ROLL, (True, False)),
    ],
)
def test_content_of_the_pull_secret_means_what_the_pool_says(
    content: SecretContent, differs: tuple[bool, bool]
) -> None:
    leaves = dict(leaves_of())
    before = revision_of(leaves | {"pullSecret.content": "a"}, content=content)
    after = revision_of(leaves | {"pullSecret.content": "b"}, content=content)

    difference = difference_of(before, after)

    assert (bool(difference.intent), bool(difference.platform)) == differs


def test_choosing_roll_for_unchanged_content_rolls_nothing() -> None:
    leaves = dict(leaves_of()) | {"pullSecret.content": "a"}
    stored = revision_of(leaves, content=SecretContent.IGNORE)
    wanted = revision_of(leaves, content=SecretContent.ROLL)

    assert means_the_same(rebase(stored, SecretContent.ROLL, Scheme(1)), wanted)


def test_force_changes_the_id_and_no_hash() -> None:
    plain, forced = make_revision(), make_revision(force="v1")

    assert means_the_same(plain, forced)
    assert plain.id != forced.id


def test_a_stored_revision_is_hashed_anew_under_another_scheme_and_keeps_its_id() -> None:
    stored = make_revision()
    wanted = revision_of(leaves_of(), scheme=Scheme(2))

    rebased = rebase(stored, SecretContent.IGNORE, Scheme(2))

    assert stored.intent_hash != wanted.intent_hash
    assert means_the_same(rebased, wanted)
    assert rebased.id == stored.id


def test_revisions_of_two_schemes_are_never_compared() -> None:
    with pytest.raises(InvariantError, match="before rebasing"):
        difference_of(make_revision(), revision_of(leaves_of(), scheme=Scheme(2)))


def test_a_replay_proof_passes_for_equal_and_for_changed_inputs() -> None:
    stored = make_revision()
    changed = leaves_of(pool_document(imageBase="x"))

    pools = [
        (stored, revision_of(leaves_of(), scheme=Scheme(2))),
        (stored, revision_of(changed, scheme=Scheme(2))),
    ]

    assert replay_proof(pools) == ReplayProof(compared=2, broken=())


def test_a_replay_proof_finds_a_hash_that_forgets_a_leaf() -> None:
    stored = make_revision()
    leaves: dict[str, Any] = dict(leaves_of(pool_document(imageBase="x")))
    wanted = revision_of(leaves)
    del leaves["imageBase"]
    forgetful = hashes_of(leaves_of(), SecretContent.IGNORE, Scheme(1))

    broken = dataclasses.replace(wanted, intent_hash=forgetful.intent)
    proof = replay_proof([(stored, broken)])

    assert proof == ReplayProof(compared=1, broken=(stored.id,))


def test_a_revision_knows_its_release_and_its_machine_template() -> None:
    revision = make_revision()

    assert revision.version == "1.34.2"
    assert revision.release_digest == "sha256:1111"
    assert revision.machine_template == {"vmSize": "m5.large"}


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, "1"), ([1], [True]), (0, False)])
def test_values_that_only_python_takes_for_equal_are_two_values(one: object, other: object) -> None:
    def with_field(value: object) -> Any:
        return {**leaves_of(), "machineTemplate.tags": value}

    first, second = revision_of(with_field(one)), revision_of(with_field(other))

    assert first.intent_hash != second.intent_hash
    changed = difference_of(first, second).intent
    assert [change.leaf for change in changed] == ["machineTemplate.tags"]


def test_names_in_another_order_and_a_real_that_is_whole_are_the_same_value() -> None:
    def with_field(value: object) -> Any:
        return {**leaves_of(), "machineTemplate.tags": value}

    first = revision_of(with_field({"a": 1, "b": 2}))
    second = revision_of(with_field({"b": 2.0, "a": 1}))

    assert first.id == second.id
    assert difference_of(first, second).intent == ()


def test_the_revision_that_is_known_is_found_again_and_not_if_anything_differs() -> None:
    known = make_revision()

    assert revision_of(dict(known.leaves), known=known) is known
    assert revision_of(dict(known.leaves), known=known, force="now") is not known
    assert revision_of(dict(known.leaves), known=known, scheme=Scheme(2)) is not known
    other = revision_of({**known.leaves, "pullSecret.content": "sha256:2"}, known=known)
    assert other.id == known.id, "no hash covers it while content is ignored"
    assert other.leaves["pullSecret.content"] == "sha256:2", "a later scheme may"


@pytest.mark.parametrize(
    "changed",
    [
        {"machineTemplate.tags": [1]},
        {"machineTemplate.tags": {"a": True}},
        {"machineTemplate.tags": None},
        {"platform.noProxy": ["a"]},
        {"platform.noProxy": ["a"], "release.version": "1.34.3"},
        {"pullSecret.content": "sha256:2"},
    ],
)
@pytest.mark.parametrize("content", list(SecretContent))
def test_hashes_are_the_same_whatever_revision_is_known(
    changed: dict[str, Any], content: SecretContent
) -> None:
    alike = {"machineTemplate.tags": [True], "platform.noProxy": ["b"]}
    known = revision_of({**leaves_of(), **alike}, content=content)
    without = {**leaves_of(), **alike, **changed}
    del without["machineTemplate.vmSize"]

    for leaves in ({**leaves_of(), **alike, **changed}, without, leaves_of()):
        from_known = revision_of(leaves, content=content, known=known)
        assert from_known == revision_of(leaves, content=content)


def test_a_difference_is_that_of_the_two_that_are_asked_for() -> None:
    first, second, third = (
        revision_of({**leaves_of(), "platform.noProxy": [name]}) for name in ("a", "b", "c")
    )

    told = [
        [(change.before, change.after) for change in difference_of(before, after).platform]
        for before, after in ((first, second), (second, first), (first, third), (first, second))
    ]

    assert told == [[(["a"], ["b"])], [(["b"], ["a"])], [(["a"], ["c"])], [(["a"], ["b"])]]


def test_no_cache_keeps_a_large_document() -> None:
    """Twenty of 1 MB, each another one: nothing of them is left."""
    tracemalloc.start()
    try:
        for number in range(20):
            content = f"{number}." + "x" * 1_000_000
            files = [{"kind": "Files", "files": [{"path": "/etc/large", "content": content}]}]
            kubelet = [{"kind": "KubeletConfiguration", "tlsCipherSuites": content}]
            leaves_of(pool_document(config=files))
            hashes_of(leaves_of(pool_document(config=kubelet)), SecretContent.IGNORE, Scheme(1))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 3_000_000
