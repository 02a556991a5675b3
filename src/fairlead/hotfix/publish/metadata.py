"""
Signed metadata of a depot, made with the `tuf` library: what trust/verify.py takes on a node.

Pure: texts and keys in, texts out; the depot reads and writes them. Every change raises a version,
and nothing here can lower one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from securesystemslib.signer import CryptoSigner, Key
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError, TrustError
from fairlead.trust.metadata import REVOKED
from fairlead.trust.metadata import Root as NodeRoot
from fairlead.trust.metadata import Targets as NodeTargets
from fairlead.trust.refused import RefusedError
from fairlead.trust.verify import MOST_ROOTS

# How long each is believed without another signature. A node that sees nothing newer for the
# shortest of them takes no fix: a frozen answer is worth a day.
ROOT_LIFE = timedelta(days=365)
RELEASE_LIFE = timedelta(days=90)
SNAPSHOT_LIFE = timedelta(days=7)
TIMESTAMP_LIFE = timedelta(days=1)

# A timestamp is signed anew when less than this of its life is left.
RENEWED_WITH_LEFT = timedelta(hours=20)

ONLINE_ROLES = ("timestamp", "snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFile:
    """A package in the depot: where it lies below it, and what it fixes."""

    path: str
    length: int
    sha256: str
    base: str
    version: str
    format: str
    component: str = OUR_COMPONENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The metadata of a depot: the last roots in order, and the newest of the others."""

    roots: tuple[bytes, ...]
    targets: bytes
    snapshot: bytes
    timestamp: bytes

    def encode(self) -> dict[str, Any]:
        """Return what a node is sent, as texts: their exact bytes are what is signed."""
        return {
            "roots": [root.decode() for root in self.roots],
            "targets": self.targets.decode(),
            "snapshot": self.snapshot.decode(),
            "timestamp": self.timestamp.decode(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleKeys:
    """Which public keys sign for which role, and how many root keys must."""

    root: tuple[Key, ...]
    release: Key
    online: Key
    threshold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Signers:
    """The private keys that are at hand. Only a change of the root needs root keys."""

    release: CryptoSigner
    online: CryptoSigner
    root: tuple[CryptoSigner, ...] = ()


def start(keys: RoleKeys, signers: Signers, now: datetime) -> Signed:
    """Return the metadata of a depot in which nothing is published yet."""
    root = _root_text(1, keys, signers.root, now)
    _refuse_unfollowed(root, root)
    targets = _targets_text(1, ((), ()), signers.release, now)
    signed = Signed(roots=(root,), targets=targets, snapshot=b"", timestamp=b"")
    return _named(signed, signers.online, now)


def publish(
    signed: Signed,
    packages: Iterable[PackageFile],
    revoked: Iterable[str],
    signers: Signers,
    now: datetime,
) -> Signed:
    """Return the metadata that authorises these packages and no other."""
    _refuse_stranger(signed, "targets", signers.release)
    version = targets_of(signed).version + 1
    targets = _targets_text(version, (packages, revoked), signers.release, now)
    try:
        NodeTargets(targets)
    except RefusedError as error:
        raise InputError(
            f"nodes would refuse this publication: {error}",
            hint="retire fixes of bases that are gone",
        ) from error
    return _named(replace(signed, targets=targets), signers.online, now)


def renew(signed: Signed, online: CryptoSigner, now: datetime) -> Signed:
    """Return the metadata with a timestamp that begins to count now; a snapshot, if it is due."""
    snapshot = Metadata[Snapshot].from_bytes(signed.snapshot).signed
    if snapshot.expires - now < SNAPSHOT_LIFE / 2:
        return _named(signed, online, now)
    return _stamped(signed, online, now)


def is_renewal_due(signed: Signed, now: datetime) -> bool:
    """Say whether the timestamp should be signed anew."""
    return Metadata[Timestamp].from_bytes(signed.timestamp).signed.expires - now < RENEWED_WITH_LEFT


def rotate(signed: Signed, keys: RoleKeys, signers: Signers, now: datetime) -> Signed:
    """
    Return the metadata under another root: enough of the old root keys and of the new must sign.

    What the replaced keys signed is signed anew, so that it is believed on.
    """
    root = _root_text(root_of(signed).version + 1, keys, signers.root, now)
    _refuse_unfollowed(signed.roots[-1], root)
    before = targets_of(signed)
    content = (packages_of(before), revoked_of(before))
    targets = _targets_text(before.version + 1, content, signers.release, now)
    # A node takes no more of them at once; one that needs an older root needs a newer image.
    roots = (*signed.roots, root)[-MOST_ROOTS:]
    grown = replace(signed, roots=roots, targets=targets)
    _refuse_stranger(grown, "targets", signers.release)
    return _named(grown, signers.online, now)


def targets_of(signed: Signed) -> Targets:
    """Return what is authorised now."""
    return Metadata[Targets].from_bytes(signed.targets).signed


def root_of(signed: Signed) -> Root:
    """Return the newest root."""
    return Metadata[Root].from_bytes(signed.roots[-1]).signed


def packages_of(targets: Targets) -> tuple[PackageFile, ...]:
    """Return the packages that these targets authorise."""
    return tuple(
        PackageFile(path=path, length=file.length, sha256=file.hashes["sha256"], **_custom_of(file))
        for path, file in sorted(targets.targets.items())
    )


def revoked_of(targets: Targets) -> tuple[str, ...]:
    """Return the versions that were withdrawn."""
    return tuple(targets.unrecognized_fields.get(REVOKED, ()))


def keys_of(root: Root) -> RoleKeys:
    """Return which keys a root names, for a next one that changes some of them."""
    named: Mapping[str, list[Key]] = {
        role: [root.keys[name] for name in root.roles[role].keyids] for role in root.roles
    }
    return RoleKeys(
        root=tuple(named["root"]),
        release=named["targets"][0],
        online=named["timestamp"][0],
        threshold=root.roles["root"].threshold,
    )


def _custom_of(file: TargetFile) -> dict[str, str]:
    custom = file.unrecognized_fields["custom"]
    told = {name: custom[name] for name in ("base", "version", "format")}
    return told | {"component": custom.get("component", OUR_COMPONENT)}


def _root_text(
    version: int, keys: RoleKeys, signers: Sequence[CryptoSigner], now: datetime
) -> bytes:
    root = Root(version=version, expires=now + ROOT_LIFE, consistent_snapshot=False)
    for key in keys.root:
        root.add_key(key, "root")
    root.add_key(keys.release, "targets")
    for role in ONLINE_ROLES:
        root.add_key(keys.online, role)
    root.roles["root"].threshold = keys.threshold
    metadata = Metadata(root)
    for signer in signers:
        metadata.sign(signer, append=True)
    return metadata.to_bytes()


def _targets_text(
    version: int,
    content: tuple[Iterable[PackageFile], Iterable[str]],
    release: CryptoSigner,
    now: datetime,
) -> bytes:
    packages, revoked = content
    targets = Targets(version=version, expires=now + RELEASE_LIFE)
    for package in packages:
        custom = {
            "base": package.base, "version": package.version, "format": package.format
        }  # fmt: skip
        if package.component != OUR_COMPONENT:
            custom["component"] = package.component
        targets.targets[package.path] = TargetFile(
            package.length, {"sha256": package.sha256}, package.path, {"custom": custom}
        )
    if names := sorted(set(revoked)):
        targets.unrecognized_fields[REVOKED] = names
    return _signed_text(Metadata(targets), release)


def _named(signed: Signed, online: CryptoSigner, now: datetime) -> Signed:
    """Return the metadata with a snapshot and a timestamp that name what is there."""
    _refuse_stranger(signed, "snapshot", online)
    before = Metadata[Snapshot].from_bytes(signed.snapshot).signed if signed.snapshot else None
    named = MetaFile.from_data(targets_of(signed).version, signed.targets, ["sha256"])
    snapshot = Snapshot(
        version=before.version + 1 if before else 1,
        expires=now + SNAPSHOT_LIFE,
        meta={"targets.json": named},
    )
    text = _signed_text(Metadata(snapshot), online)
    return _stamped(replace(signed, snapshot=text), online, now)


def _stamped(signed: Signed, online: CryptoSigner, now: datetime) -> Signed:
    _refuse_stranger(signed, "timestamp", online)
    before = Metadata[Timestamp].from_bytes(signed.timestamp).signed if signed.timestamp else None
    snapshot = Metadata[Snapshot].from_bytes(signed.snapshot).signed
    newest = MetaFile.from_data(snapshot.version, signed.snapshot, ["sha256"])
    timestamp = Timestamp(
        version=before.version + 1 if before else 1,
        expires=now + TIMESTAMP_LIFE,
        snapshot_meta=newest,
    )
    return replace(signed, timestamp=_signed_text(Metadata(timestamp), online))


def _signed_text(metadata: Metadata[Any], signer: CryptoSigner) -> bytes:
    metadata.sign(signer)
    return metadata.to_bytes()


def _refuse_stranger(signed: Signed, role: str, signer: CryptoSigner) -> None:
    """Refuse to sign with a key that no node would believe, before anything is written."""
    if signer.public_key.keyid not in root_of(signed).roles[role].keyids:
        raise TrustError(
            f"the key {signer.public_key.keyid[:12]} does not sign for {role} under the newest "
            "root; `fairlead keys show` lists those that do"
        )


def _refuse_unfollowed(before: bytes, after: bytes) -> None:
    """Refuse a root that nodes with the one before it would not follow to."""
    old, new = Metadata[Root].from_bytes(before), Metadata[Root].from_bytes(after)
    for signers in (old, new):
        result = signers.signed.get_verification_result("root", new.signed_bytes, new.signatures)
        if not result.verified:
            raise InputError(
                f"{len(result.signed)} root keys signed, {result.threshold} of these must: "
                + ", ".join(sorted(name[:12] for name in result.unsigned | result.signed)),
                hint="bring more root keys along",
            )
    try:
        NodeRoot(after)
    except RefusedError as error:
        raise InputError(f"nodes would refuse this root: {error}") from error


def render_update(signed: Signed) -> bytes:
    """Return what a service sends along with an answer, as one text."""
    return encode_json(signed.encode(), ascii_only=False).encode() + b"\n"
