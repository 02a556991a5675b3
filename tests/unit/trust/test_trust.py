"""What a node takes of signed hotfix metadata, and the attacks that it refuses."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.formats import encode_canonical
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Targets

from example_counts import examples
from fairlead.errors import InputError
from fairlead.trust.metadata import REVOKED
from fairlead.trust.refused import RefusedError
from fairlead.trust.seen import Seen, parse_seen
from fairlead.trust.signed_text import canonical
from fairlead.trust.verify import Update, Verified, verify_update
from unit.trust.publisher import NOW, PAST, Publisher, is_signed


@pytest.fixture(scope="module")
def publisher() -> Publisher:
    return Publisher()


@pytest.fixture(scope="module")
def published(publisher: Publisher) -> Update:
    return publisher.update(5)


def verify(publisher: Publisher, update: Update, seen: Seen | None = None) -> Verified:
    return verify_update(publisher.anchor(), seen or Seen(), update, NOW, is_signed)


def cause_of(publisher: Publisher, update: Update, seen: Seen | None = None) -> str:
    with pytest.raises(RefusedError) as refused:
        verify(publisher, update, seen)
    return refused.value.cause


def test_what_the_publisher_signed_is_what_a_node_may_install(publisher: Publisher) -> None:
    verified = verify(publisher, publisher.update(7))

    package = verified.targets.find("202604.01.3", "deb")
    assert package is not None
    assert (package.path, package.length, package.sha256, package.base) == (
        "apt/pool/fairlead-node-hotfix_202604.01.3_all.deb",
        1000,
        "ab" * 32,
        "202604.01",
    )
    assert verified.targets.find("202604.01.4", "deb") is None
    assert verified.targets.find("202604.01.3", "rpm") is None
    seen = verified.seen
    assert (seen.timestamp, seen.snapshot, seen.targets) == (7, 7, 7)
    assert seen.root == publisher.anchor()


def test_openssl_and_the_publishers_library_agree(publisher: Publisher, tmp_path: Path) -> None:
    def openssl(pem: str, content: bytes, signature: bytes) -> bool:
        for name, text in (("k", pem.encode()), ("c", content), ("s", signature)):
            (tmp_path / name).write_bytes(text)
        command = ["openssl", "dgst", "-sha256", "-verify", "k", "-signature", "s", "c"]
        return (
            subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
        )

    update = publisher.update()
    assert verify_update(publisher.anchor(), Seen(), update, NOW, openssl).seen.targets == 1
    update.targets = update.targets.replace(b"202604.01.3", b"202604.01.4")
    with pytest.raises(RefusedError):
        verify_update(publisher.anchor(), Seen(), update, NOW, openssl)


def test_a_version_that_was_revoked_is_not_found(publisher: Publisher) -> None:
    targets = publisher.update().targets
    content = Targets.from_dict(json.loads(targets)["signed"])
    content.unrecognized_fields[REVOKED] = ["202604.01.3"]
    update = publisher.around(publisher.signed("targets", content), 1)

    verified = verify(publisher, update)

    assert verified.targets.revoked == ["202604.01.3"]
    assert verified.targets.find("202604.01.3", "deb") is None


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_older_than_seen_is_a_rollback(publisher: Publisher, role: str) -> None:
    seen = Seen()
    setattr(seen, role, 8)

    assert cause_of(publisher, publisher.update(7), seen) == "rollback"
    assert verify(publisher, publisher.update(8), seen).seen.targets == 8


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_metadata_past_its_end_is_a_freeze(role: str) -> None:
    publisher = Publisher(expires={role: PAST})

    with pytest.raises(RefusedError, match=f"expired: {role} 1 ended at 2026-11-16T16:59:59Z"):
        verify(publisher, publisher.update())


def test_a_root_past_its_end_is_refused(publisher: Publisher) -> None:
    with pytest.raises(RefusedError, match="expired: root 1 ended at 2027-11-17T00:00:00Z"):
        verify_update(
            publisher.anchor(), Seen(), publisher.update(), "2027-11-17T00:00:00Z", is_signed
        )


def test_parts_of_two_publications_are_no_publication(publisher: Publisher) -> None:
    old, new = publisher.update(1), publisher.update(2)
    same_version = publisher.update(2, fixes=("202604.01.9",))

    assert cause_of(publisher, Update([], new.timestamp, old.snapshot, old.targets)) == (
        "mix-and-match"
    )
    assert cause_of(publisher, Update([], new.timestamp, new.snapshot, old.targets)) == (
        "mix-and-match"
    )
    mixed = Update([], new.timestamp, new.snapshot, same_version.targets)
    assert cause_of(publisher, mixed) == "mix-and-match"


def test_a_document_of_the_named_version_and_length_is_known_by_its_digest(
    publisher: Publisher,
) -> None:
    update = publisher.update()
    other = update.targets.replace(b"ab" * 32, b"cd" * 32)
    assert len(other) == len(update.targets)
    update.targets = other

    assert cause_of(publisher, update) == "mix-and-match"


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_keys_that_the_root_does_not_name_convince_nobody(publisher: Publisher, role: str) -> None:
    stranger = Publisher()
    stranger.keys = {**publisher.keys, role: stranger.keys[role]}

    assert cause_of(publisher, stranger.update()) == "wrong-key"


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_a_key_signs_for_its_own_role_only(publisher: Publisher, role: str) -> None:
    other = Publisher()
    borrowed = "targets" if role != "targets" else "timestamp"
    other.keys = {**publisher.keys, role: publisher.keys[borrowed]}

    assert cause_of(publisher, other.update()) == "wrong-key"


def test_a_signature_under_the_right_id_by_the_wrong_key_is_refused(publisher: Publisher) -> None:
    update = publisher.update()
    document = json.loads(update.timestamp)
    document["signatures"][0]["sig"] = "30" + document["signatures"][0]["sig"][2:-2] + "00"
    update.timestamp = json.dumps(document).encode()

    assert cause_of(publisher, update) == "below-threshold"


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_endless_data_is_refused_before_it_is_read(publisher: Publisher, role: str) -> None:
    update = publisher.update()
    setattr(update, role, getattr(update, role) + b" " * (2 << 20))

    assert cause_of(publisher, update) == "too-large"


def test_a_chain_of_roots_leads_to_new_keys() -> None:
    publisher = Publisher()
    anchor = publisher.anchor()
    for _ in range(2):
        for role in publisher.keys:
            publisher.keys[role] = [CryptoSigner.generate_ecdsa() for _ in publisher.keys[role]]
        publisher.sign_root()

    verified = verify_update(anchor, Seen(), publisher.update(), NOW, is_signed)

    assert verified.seen.root == publisher.anchor(3)
    # And from there on, without the chain.
    again = verify_update(anchor, verified.seen, publisher.update(2, roots=3), NOW, is_signed)
    assert again.seen.targets == 2


def test_a_root_that_one_key_of_three_signed_is_below_the_threshold() -> None:
    publisher = Publisher()
    anchor = publisher.anchor()
    publisher.sign_root(publisher.keys["root"][:1])

    with pytest.raises(RefusedError, match="root 2 has 1 good signatures of 2"):
        verify_update(anchor, Seen(), publisher.update(), NOW, is_signed)


def test_a_root_that_only_its_own_keys_signed_is_refused() -> None:
    publisher = Publisher()
    anchor = publisher.anchor()
    publisher.keys["root"] = [CryptoSigner.generate_ecdsa() for _ in range(3)]
    publisher.sign_root(publisher.keys["root"])

    with pytest.raises(RefusedError, match="wrong-key"):
        verify_update(anchor, Seen(), publisher.update(), NOW, is_signed)


def test_a_root_that_its_own_keys_did_not_sign_is_refused() -> None:
    publisher = Publisher()
    anchor = publisher.anchor()
    old = publisher.keys["root"]
    publisher.keys["root"] = [CryptoSigner.generate_ecdsa() for _ in range(3)]
    publisher.sign_root(old)

    with pytest.raises(RefusedError, match="wrong-key"):
        verify_update(anchor, Seen(), publisher.update(), NOW, is_signed)


def test_a_chain_with_a_link_missing_is_refused() -> None:
    publisher = Publisher()
    anchor = publisher.anchor()
    publisher.sign_root()
    publisher.sign_root()
    update = publisher.update()
    del update.roots[1]

    with pytest.raises(RefusedError, match="root 3 does not follow root 1"):
        verify_update(anchor, Seen(), update, NOW, is_signed)


def test_a_chain_without_an_end_is_refused(publisher: Publisher) -> None:
    update = publisher.update()
    update.roots = [publisher.anchor()] * 33

    assert cause_of(publisher, update) == "too-large"


def test_one_key_under_two_ids_signs_once() -> None:
    publisher = Publisher()
    root = json.loads(publisher.anchor())["signed"]
    [first, *_] = root["roles"]["root"]["keyids"]
    twin = "f" * 64
    root["version"] = 2
    root["keys"][twin] = json.loads(json.dumps(root["keys"][first]))
    root["keys"][twin]["keyval"]["public"] += "\n"
    root["roles"]["root"]["keyids"] = [first, twin]
    [signer] = [key for key in publisher.keys["root"] if key.public_key.keyid == first]
    content = canonical(root).encode()
    signature = signer.sign(content).signature
    second = publisher.keys["root"][1].sign(content)
    signatures = [
        {"keyid": first, "sig": signature},
        {"keyid": twin, "sig": signature},
        {"keyid": second.keyid, "sig": second.signature},
    ]
    update = publisher.update()
    update.roots = [json.dumps({"signed": root, "signatures": signatures}).encode()]

    # The old root's threshold is met by two different keys, the new one's by one key twice.
    assert cause_of(publisher, update) == "below-threshold"


@pytest.mark.parametrize("brings", ["the chain of roots", "the image"])
def test_what_a_thief_signed_far_ahead_is_forgotten_whoever_brings_the_newer_root(
    brings: str,
) -> None:
    publisher = Publisher()
    stolen = verify_update(
        publisher.anchor(), Seen(), publisher.update(1 << 30), NOW, is_signed
    ).seen
    stolen.targets = 1
    for role in ("timestamp", "snapshot"):
        publisher.keys[role] = [CryptoSigner.generate_ecdsa()]
    publisher.sign_root()
    anchor = publisher.anchor(2 if brings == "the image" else 1)

    verified = verify_update(anchor, stolen, publisher.update(2), NOW, is_signed)

    assert (verified.seen.timestamp, verified.seen.snapshot) == (2, 2)
    assert verified.seen.root == publisher.anchor(2)
    stolen.targets = 3
    with pytest.raises(RefusedError, match="rollback: targets 2, 3 was seen before"):
        verify_update(anchor, stolen, publisher.update(2), NOW, is_signed)


def test_a_newer_root_in_the_image_with_the_same_keys_forgets_nothing() -> None:
    publisher = Publisher()
    seen = verify_update(publisher.anchor(), Seen(), publisher.update(8), NOW, is_signed).seen
    publisher.sign_root()

    with pytest.raises(RefusedError, match="rollback: timestamp 7, 8 was seen before"):
        verify_update(publisher.anchor(2), seen, publisher.update(7), NOW, is_signed)


MALFORMED: dict[str, Callable[[dict[str, object]], object]] = {
    "no object": lambda document: [document],
    "other names": lambda document: {**document, "more": 1},
    "other role": lambda document: {**document, "signed": {"_type": "root"}},
    "no version": lambda document: {
        **document,
        "signed": {"_type": "timestamp", "expires": NOW, "meta": {}},
    },
    "signatures by name": lambda document: {**document, "signatures": {}},
    "seventeen signatures": lambda document: {
        **document,
        "signatures": [{"keyid": str(n), "sig": "00"} for n in range(17)],
    },
    "one key twice": lambda document: {
        **document,
        "signatures": [{"keyid": "a", "sig": "00"}, {"keyid": "a", "sig": "01"}],
    },
    "a long signature": lambda document: {
        **document,
        "signatures": [{"keyid": "a", "sig": "00" * 73}],
    },
    "a number with a fraction": lambda document: {
        **document,
        "signed": {"_type": "timestamp", "version": 1.0},
    },
    "seventeen levels": lambda document: {
        **document,
        "signatures": json.loads("[" * 16 + "]" * 16),
    },
    "no hexadecimal": lambda document: {
        **document,
        "signatures": [{"keyid": "a", "sig": "zz"}],
    },
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_nobody_can_have_meant_is_malformed(publisher: Publisher, name: str) -> None:
    update = publisher.update()
    update.timestamp = json.dumps(MALFORMED[name](json.loads(update.timestamp))).encode()

    assert cause_of(publisher, update) == "malformed"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (b'{"signed": ' + b"[" * 16 + b"]" * 16 + b"}", "nested deeper than 16"),
        (b'{"signed": [1.5]}', "found a number that is no integer"),
        (b'{"signed": ["\\ud800"]}', "found text that is not Unicode"),
    ],
)
def test_what_has_no_canonical_form_is_refused(
    publisher: Publisher, more: bytes, problem: str
) -> None:
    update = publisher.update()
    update.timestamp = more

    with pytest.raises(RefusedError, match=problem):
        verify(publisher, update)


def test_a_name_that_stands_twice_is_malformed(publisher: Publisher) -> None:
    update = publisher.update()
    update.timestamp = update.timestamp.replace(b'"version":', b'"version": 9, "version":', 1)

    assert cause_of(publisher, update) == "malformed"


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_no_changed_byte_is_taken(
    publisher: Publisher, published: Update, data: st.DataObject
) -> None:
    update = Update([], published.timestamp, published.snapshot, published.targets)
    role = data.draw(st.sampled_from(["timestamp", "snapshot", "targets"]))
    text = bytearray(getattr(update, role))
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] ^= 1 << data.draw(st.integers(0, 7))
    before = json.loads(getattr(update, role))
    setattr(update, role, bytes(text))

    try:
        verified = verify(publisher, update)
    except RefusedError:
        return
    # A flip of white space, or of the case of a hexadecimal digit, changes nothing that is said;
    # and only of the timestamp, whose digest nobody names.
    assert role == "timestamp"
    after = json.loads(bytes(text))
    assert after["signed"] == before["signed"]
    assert verified.seen.timestamp == 5


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(value=PLAIN)
def test_the_canonical_form_is_the_publishers(value: Any) -> None:
    assert canonical(value) == encode_canonical(value)


def test_what_was_seen_is_kept_and_read_back() -> None:
    seen = Seen(root=b'{"a": "\xc3\xa9"}', timestamp=3, snapshot=2, targets=1)

    read = parse_seen(seen.render())

    assert (read.root, read.timestamp, read.snapshot, read.targets) == (
        b'{"a": "\xc3\xa9"}',
        3,
        2,
        1,
    )


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{}", b'{"root": 1, "timestamp": 1, "snapshot": 1, "targets": 1}',
     b'{"root": "", "timestamp": -1, "snapshot": 1, "targets": 1}',
     b'{"root": "", "timestamp": true, "snapshot": 1, "targets": 1}'],
)  # fmt: skip
def test_a_memory_that_is_damaged_is_no_empty_memory(text: bytes) -> None:
    with pytest.raises(InputError):
        parse_seen(text)
