"""What a publisher signs is what a node takes, through every change of keys."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairlead.errors import InputError, TrustError
from fairlead.hotfix.publish import metadata
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.keys import make_key, read_key, read_root_keys
from fairlead.hotfix.publish.metadata import PackageFile, RoleKeys, Signed, Signers
from fairlead.trust.refused import RefusedError
from fairlead.trust.seen import Seen
from fairlead.trust.verify import Update, Verified, verify_update
from unit.trust.publisher import is_signed

NOW = datetime(2026, 11, 16, 17, tzinfo=UTC)
FIX = PackageFile(
    path="apt/pool/fairlead-node-hotfix_202604.01.3_all.deb",
    length=1000,
    sha256="ab" * 32,
    base="202604.01",
    version="202604.01.3",
    format="deb",
)


@pytest.fixture
def signers(tmp_path: Path) -> Signers:
    root = tuple(make_key(tmp_path / f"root-{number}.pem") for number in (1, 2, 3))
    return Signers(
        root=root,
        release=make_key(tmp_path / "release.pem"),
        online=make_key(tmp_path / "online.pem"),
    )


def keys_of(signers: Signers, threshold: int = 2) -> RoleKeys:
    return RoleKeys(
        root=tuple(signer.public_key for signer in signers.root),
        release=signers.release.public_key,
        online=signers.online.public_key,
        threshold=threshold,
    )


def taken(signed: Signed, seen: Seen | None = None, *, at: datetime = NOW) -> Verified:
    """What a node with the very first root takes."""
    update = Update(list(signed.roots), signed.timestamp, signed.snapshot, signed.targets)
    now = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return verify_update(signed.roots[0], seen or Seen(), update, now, is_signed)


def test_a_published_fix_is_one_that_a_node_may_install(signers: Signers) -> None:
    signed = metadata.start(keys_of(signers), signers, NOW)
    assert taken(signed).targets.packages == []

    signed = metadata.publish(signed, [FIX], (), signers, NOW)

    package = taken(signed).targets.find("202604.01.3", "deb")
    assert package is not None
    assert (package.path, package.sha256) == (FIX.path, FIX.sha256)
    assert metadata.packages_of(metadata.targets_of(signed)) == (FIX,)


def test_a_withdrawn_fix_is_refused_by_name_and_the_old_answer_is_a_rollback(
    signers: Signers,
) -> None:
    published = metadata.publish(
        metadata.start(keys_of(signers), signers, NOW), [FIX], (), signers, NOW
    )
    withdrawn = metadata.publish(published, [], ["202604.01.3"], signers, NOW)

    verified = taken(withdrawn)

    assert verified.seen.targets == 3
    assert verified.targets.revoked == ["202604.01.3"]
    assert verified.targets.find("202604.01.3", "deb") is None
    with pytest.raises(RefusedError, match="rollback"):
        taken(published, verified.seen)


def test_an_answer_is_worth_a_day_and_renewed_before(signers: Signers) -> None:
    signed = metadata.start(keys_of(signers), signers, NOW)
    later = NOW + timedelta(hours=24)

    with pytest.raises(RefusedError, match="expired: timestamp 1"):
        taken(signed, at=later)
    assert not metadata.is_renewal_due(signed, NOW + timedelta(hours=4))
    assert metadata.is_renewal_due(signed, NOW + timedelta(hours=4, seconds=1))
    assert taken(metadata.renew(signed, signers.online, later), at=later).seen.timestamp == 2


def test_a_service_that_only_renews_keeps_an_answer_alive_for_a_release_keys_life(
    signers: Signers,
) -> None:
    signed = metadata.start(keys_of(signers), signers, NOW)
    for hours in range(4, 89 * 24, 20):
        signed = metadata.renew(signed, signers.online, NOW + timedelta(hours=hours))

    assert taken(signed, at=NOW + timedelta(days=89)).seen.targets == 1
    signed = metadata.renew(signed, signers.online, NOW + timedelta(days=90))
    with pytest.raises(RefusedError, match="expired: targets 1"):
        taken(signed, at=NOW + timedelta(days=90))


def test_every_key_can_be_replaced_and_a_node_with_the_first_root_follows(
    signers: Signers, tmp_path: Path
) -> None:
    signed = metadata.start(keys_of(signers), signers, NOW)
    signed = metadata.publish(signed, [FIX], (), signers, NOW)
    seen = taken(signed).seen
    # One root key at a time: two of the old ones sign along.
    new_root = make_key(tmp_path / "root-4.pem")
    changed = Signers(
        root=(new_root, *signers.root[:2]),
        release=make_key(tmp_path / "release-2.pem"),
        online=make_key(tmp_path / "online-2.pem"),
    )

    signed = metadata.rotate(signed, keys_of(changed), changed, NOW)

    verified = taken(signed, seen)
    assert verified.targets.find("202604.01.3", "deb") is not None
    with pytest.raises(TrustError, match="does not sign for targets under the newest root"):
        metadata.publish(signed, [], (), signers, NOW)
    with pytest.raises(TrustError, match="does not sign for timestamp"):
        metadata.renew(signed, signers.online, NOW)


def test_a_root_that_nodes_would_not_follow_to_is_not_made(signers: Signers) -> None:
    signed = metadata.start(keys_of(signers), signers, NOW)
    alone = Signers(root=signers.root[:1], release=signers.release, online=signers.online)

    with pytest.raises(InputError, match="1 root keys signed, 2 of these must"):
        metadata.rotate(signed, keys_of(signers), alone, NOW)
    with pytest.raises(InputError, match="1 root keys signed, 2 of these must"):
        metadata.start(keys_of(signers), alone, NOW)


def test_keys_are_private_never_replaced_and_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "root-1.pem"
    made = make_key(file)

    assert file.stat().st_mode & 0o777 == 0o600
    assert read_key(file).public_key == made.public_key
    assert [key.public_key for key in read_root_keys(tmp_path)] == [made.public_key]
    with pytest.raises(InputError, match="exists already"):
        make_key(file)
    file.write_text("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n")
    with pytest.raises(InputError, match="holds no private key") as refused:
        read_key(file)
    assert "c2Vj" not in str(refused.value)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "release.pem"
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    file.write_bytes(
        Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
    )

    with pytest.raises(InputError, match="expected ECDSA on P-256"):
        read_key(file)


def test_a_depot_keeps_what_was_signed(signers: Signers, tmp_path: Path) -> None:
    depot = Depot(tmp_path / "depot")
    assert not depot.exists()
    with pytest.raises(InputError, match="is no depot of hotfixes"):
        depot.read_signed()
    signed = metadata.start(keys_of(signers), signers, NOW)

    with depot.writing():
        depot.write_signed(signed)

    assert depot.exists()
    assert depot.read_signed() == signed
    names = sorted(path.name for path in depot.metadata.iterdir())
    assert names == [
        "1.root.json", "root.json", "snapshot.json", "targets.json", "timestamp.json", "update.json"
    ]  # fmt: skip
    assert (depot.metadata / "targets.json").read_bytes() == signed.targets


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"roots": [1]}', b'{"roots": ["a"]}'])
def test_a_depot_that_is_damaged_says_so(tmp_path: Path, text: bytes) -> None:
    depot = Depot(tmp_path)
    depot.metadata.mkdir()
    (depot.metadata / "update.json").write_bytes(text)

    with pytest.raises(InputError, match="is damaged"):
        depot.read_signed()


def test_a_writer_that_dies_before_the_last_file_changed_nothing_that_counts(
    signers: Signers, tmp_path: Path
) -> None:
    depot = Depot(tmp_path / "depot")
    first = metadata.start(keys_of(signers), signers, NOW)
    with depot.writing():
        depot.write_signed(first)
    second = metadata.publish(first, [FIX], (), signers, NOW)
    # The last one cannot take its name any more.
    (depot.metadata / "update.json").rename(tmp_path / "kept")
    (depot.metadata / "update.json").mkdir()
    with pytest.raises(OSError, match=r"update\.json"), depot.writing():
        depot.write_signed(second)
    (depot.metadata / "update.json").rmdir()
    (tmp_path / "kept").rename(depot.metadata / "update.json")

    assert depot.read_signed() == first


def test_after_more_roots_than_a_node_takes_the_last_of_them_are_sent(signers: Signers) -> None:
    signed = metadata.start(keys_of(signers), signers, NOW)
    for _ in range(33):
        signed = metadata.rotate(signed, keys_of(signers), signers, NOW)

    assert (len(signed.roots), metadata.root_of(signed).version) == (32, 34)
    update = Update(list(signed.roots), signed.timestamp, signed.snapshot, signed.targets)
    now = NOW.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert verify_update(signed.roots[0], Seen(), update, now, is_signed).targets.version == 34


def test_more_fixes_than_a_node_reads_are_refused_before_they_are_signed(signers: Signers) -> None:
    signed = metadata.start(keys_of(signers), signers, NOW)
    many = [replace(FIX, path=f"apt/pool/{number:0>200}.deb") for number in range(3000)]

    with pytest.raises(InputError, match="nodes would refuse this publication: too-large"):
        metadata.publish(signed, many, (), signers, NOW)
