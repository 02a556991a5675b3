"""
From what a node trusts to what it may install: the order of checks of the TUF specification.

A node trusts a root: the one of its image, or the newest that a chain of signatures led to. From
there every step must be signed by enough keys, not older than what was seen, not past its end and
the one that the step before named. Any doubt refuses all of it: the node boots as baked.
"""

from __future__ import annotations

from hashlib import sha256

from fairlead.trust.metadata import (
    ROOT,
    SNAPSHOT,
    TARGETS,
    TIMESTAMP,
    Described,
    Role,
    Root,
    Signers,
    Snapshot,
    Targets,
    Timestamp,
)
from fairlead.trust.refused import (
    BELOW_THRESHOLD,
    EXPIRED,
    MIXED,
    ROLLBACK,
    TOO_LARGE,
    WRONG_KEY,
    RefusedError,
)
from fairlead.trust.seen import Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Key in PEM, what is signed, the signature.
    IsSigned = Callable[[str, bytes, bytes], bool]

# A node that was baked a year ago follows this many changes of the root in one boot.
MOST_ROOTS = 32


class Update:
    """What a service sends along: texts of metadata, the newest of each; new roots in order."""

    __slots__ = ("roots", "snapshot", "targets", "timestamp")

    def __init__(
        self, roots: list[bytes], timestamp: bytes, snapshot: bytes, targets: bytes
    ) -> None:
        self.roots = roots
        self.timestamp = timestamp
        self.snapshot = snapshot
        self.targets = targets


class Verified:
    """What was proven. Only verify_update makes one: what uses it needs no second look."""

    __slots__ = ("seen", "targets")

    def __init__(self, targets: Targets, seen: Seen) -> None:
        self.targets = targets
        self.seen = seen


def verify_update(
    anchor: bytes, seen: Seen, update: Update, now: str, is_signed: IsSigned
) -> Verified:
    """
    Return what an update authorises, and what to remember. Raises RefusedError.

    anchor: the root that came with the image. now: as moments stand in metadata, in UTC.
    """
    root = _follow(_trusted_root(anchor, seen), update.roots, is_signed)
    _refuse_expired(root, now)
    known = _still_known(root, seen)

    timestamp = Timestamp(update.timestamp)
    _refuse_unsigned(timestamp, root.signers[TIMESTAMP], is_signed)
    _refuse_older(timestamp, known.timestamp)
    _refuse_older_described(timestamp.snapshot, known.snapshot, SNAPSHOT)
    _refuse_expired(timestamp, now)

    snapshot = Snapshot(update.snapshot)
    _refuse_other(snapshot, timestamp.snapshot)
    _refuse_unsigned(snapshot, root.signers[SNAPSHOT], is_signed)
    _refuse_older_described(snapshot.targets, known.targets, TARGETS)
    _refuse_expired(snapshot, now)

    targets = Targets(update.targets)
    _refuse_other(targets, snapshot.targets)
    _refuse_unsigned(targets, root.signers[TARGETS], is_signed)
    _refuse_expired(targets, now)
    return Verified(
        targets,
        Seen(
            root=root.signed.text,
            timestamp=timestamp.version,
            snapshot=snapshot.version,
            targets=targets.version,
        ),
    )


def _trusted_root(anchor: bytes, seen: Seen) -> Root:
    """Return the newer of the image's root and the one that was followed to."""
    baked = Root(anchor)
    if not seen.root:
        return baked
    followed = Root(seen.root)
    return followed if followed.version >= baked.version else baked


def _follow(trusted: Root, texts: list[bytes], is_signed: IsSigned) -> Root:
    """Return the last of a chain of roots, each signed by the one before it and by itself."""
    if len(texts) > MOST_ROOTS:
        raise RefusedError(TOO_LARGE, f"{len(texts)} roots, expected at most {MOST_ROOTS}")
    for text in texts:
        new = Root(text)
        if new.version <= trusted.version:
            continue  # known already: a service need not know which one a node has
        if new.version != trusted.version + 1:
            raise RefusedError(
                ROLLBACK, f"root {new.version} does not follow root {trusted.version}"
            )
        _refuse_unsigned(new, trusted.signers[ROOT], is_signed)
        _refuse_unsigned(new, new.signers[ROOT], is_signed)
        trusted = new
    return trusted


def _still_known(root: Root, seen: Seen) -> Seen:
    """
    Return what of the memory counts under the newest root, be it the image's or one followed to.

    Whoever stole a key may have signed a version far ahead; with the key replaced, versions that
    it signed are forgotten, or nothing signed by the new one could ever be taken.
    """
    remembered_under = Root(seen.root) if seen.root else root
    known = Seen(
        root=seen.root, timestamp=seen.timestamp, snapshot=seen.snapshot, targets=seen.targets
    )
    changed = [
        role
        for role in (TIMESTAMP, SNAPSHOT, TARGETS)
        if remembered_under.signers[role].names() != root.signers[role].names()
    ]
    if TIMESTAMP in changed or SNAPSHOT in changed:
        known.timestamp = known.snapshot = 0
    if TARGETS in changed:
        known.targets = 0
    return known


def _refuse_unsigned(role: Role, signers: Signers, is_signed: IsSigned) -> None:
    """Return if enough different keys signed. One key under two ids counts once."""
    good: set[str] = set()
    bad = 0
    for key in signers.keys:
        signature = role.signed.signatures.get(key.id)
        if signature is None:
            continue
        if is_signed(key.pem, role.signed.canonical, signature):
            good.add(key.material)
            if len(good) == signers.threshold:
                return
        else:
            bad += 1
    told = f"{role.name} {role.version} has {len(good)} good signatures of {signers.threshold}"
    raise RefusedError(BELOW_THRESHOLD if good or bad else WRONG_KEY, told)


def _refuse_older(role: Role, seen: int) -> None:
    if role.version < seen:
        raise RefusedError(ROLLBACK, f"{role.name} {role.version}, {seen} was seen before")


def _refuse_older_described(described: Described, seen: int, name: str) -> None:
    if described.version < seen:
        raise RefusedError(ROLLBACK, f"{name} {described.version}, {seen} was seen before")


def _refuse_expired(role: Role, now: str) -> None:
    if role.expires <= now:
        raise RefusedError(EXPIRED, f"{role.name} {role.version} ended at {role.expires}")


def _refuse_other(role: Role, described: Described) -> None:
    """Return if this is the very document that the one before named."""
    text = role.signed.text
    is_same = (
        role.version == described.version
        and described.length in (None, len(text))
        and described.sha256 in (None, sha256(text).hexdigest())
    )
    if not is_same:
        raise RefusedError(MIXED, f"{role.name} {role.version} is not the one that was named")
