"""
The four roles of TUF as a node needs them: strictly read, bounded, and nothing else of them.

Unknown names are passed over, as the specification has it: later versions may add some.
"""

from __future__ import annotations

from fairlead.trust.signed_text import SignedText, malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT, TIMESTAMP, SNAPSHOT, TARGETS = "root", "timestamp", "snapshot", "targets"
ROLES = (ROOT, TIMESTAMP, SNAPSHOT, TARGETS)

# Bytes. A root with sixteen keys has 8 KiB, a hundred fixes in two formats have 60 KiB.
LARGEST = {ROOT: 64 << 10, TIMESTAMP: 16 << 10, SNAPSHOT: 16 << 10, TARGETS: 1 << 20}

# The one kind of key, since `openssl` of every supported image verifies it.
KEY_TYPE, SCHEME = "ecdsa", "ecdsa-sha2-nistp256"

MOST_KEYS = 16
LONGEST_KEY = 1024

# Beyond this a version would no longer be exact everywhere.
LARGEST_VERSION = 1 << 53

# Our own name in the signed part of targets: versions that were withdrawn.
REVOKED = "x-fairlead-revoked"

# 2026-11-16T17:00:00Z: such texts compare as the moments that they name.
_MOMENT = "0000-00-00T00:00:00Z"


class PublicKey:
    """A key by its id. `material` tells two keys apart: one key under two ids is one key."""

    __slots__ = ("id", "material", "pem")

    def __init__(self, key_id: str, pem: str) -> None:
        self.id = key_id
        self.pem = pem
        self.material = "".join(pem.split())


class Signers:
    """Who signs for a role, and how many of them must."""

    __slots__ = ("keys", "threshold")

    def __init__(self, keys: list[PublicKey], threshold: int) -> None:
        self.keys = keys
        self.threshold = threshold

    def names(self) -> set[str]:
        """Return what tells these signers from others."""
        return {key.material for key in self.keys}


class Role:
    """What all four have: a version, an end, the text that they were read from."""

    __slots__ = ("expires", "signed", "version")

    name = ""

    def __init__(self, signed: SignedText) -> None:
        self.signed = signed
        self.version = _version_of(signed.content.get("version"), self.name)
        self.expires = _moment_of(signed.content.get("expires"), self.name)


class Root(Role):
    """Which keys sign for which role."""

    __slots__ = ("signers",)

    name = ROOT

    def __init__(self, text: bytes) -> None:
        super().__init__(SignedText(text, ROOT, LARGEST[ROOT]))
        content = self.signed.content
        keys = _keys_of(_object(content, "keys", ROOT))
        roles = _object(content, "roles", ROOT)
        self.signers = {name: _signers_of(_object(roles, name, ROOT), keys) for name in ROLES}


class Described:
    """What one document says of another: its version, and its digest and length if told."""

    __slots__ = ("length", "sha256", "version")

    def __init__(self, content: dict[str, Any], file: str, role: str) -> None:
        described = _object(_object(content, "meta", role), file, role)
        self.version = _version_of(described.get("version"), role)
        self.length = described.get("length")
        self.sha256 = described.get("hashes", {}).get("sha256") if _has_hashes(described) else None


class Timestamp(Role):
    """The newest snapshot."""

    __slots__ = ("snapshot",)

    name = TIMESTAMP

    def __init__(self, text: bytes) -> None:
        super().__init__(SignedText(text, TIMESTAMP, LARGEST[TIMESTAMP]))
        self.snapshot = Described(self.signed.content, "snapshot.json", TIMESTAMP)


class Snapshot(Role):
    """The targets that belong to it."""

    __slots__ = ("targets",)

    name = SNAPSHOT

    def __init__(self, text: bytes) -> None:
        super().__init__(SignedText(text, SNAPSHOT, LARGEST[SNAPSHOT]))
        self.targets = Described(self.signed.content, "targets.json", SNAPSHOT)


class Package:
    """One file that may be installed: what it fixes, and how it is recognised."""

    __slots__ = ("base", "format", "length", "path", "sha256", "version")

    def __init__(self, path: str, described: dict[str, Any]) -> None:
        custom = _object(described, "custom", TARGETS)
        hashes = _object(described, "hashes", TARGETS)
        self.path = path
        self.length = described.get("length")
        self.sha256 = hashes.get("sha256")
        self.base = custom.get("base")
        self.version = custom.get("version")
        self.format = custom.get("format")
        texts = (self.sha256, self.base, self.version, self.format)
        if type(self.length) is not int or not all(isinstance(text, str) for text in texts):
            raise malformed(TARGETS, f"{path[:80]!a} does not say what it is")


class Targets(Role):
    """Every package that may be installed, and the versions that may not any more."""

    __slots__ = ("packages", "revoked")

    name = TARGETS

    def __init__(self, text: bytes) -> None:
        super().__init__(SignedText(text, TARGETS, LARGEST[TARGETS]))
        content = self.signed.content
        described = _object(content, "targets", TARGETS)
        self.packages = [
            Package(path, _object(described, path, TARGETS)) for path in sorted(described)
        ]
        revoked = content.get(REVOKED, [])
        if not isinstance(revoked, list) or not all(isinstance(item, str) for item in revoked):
            raise malformed(TARGETS, f"{REVOKED} is no list of versions")
        self.revoked = revoked

    def find(self, version: str, package_format: str) -> Package | None:
        """Return the package of a version that may be installed, or None."""
        if version in self.revoked:
            return None
        for package in self.packages:
            if (package.version, package.format) == (version, package_format):
                return package
        return None


def _keys_of(described: dict[str, Any]) -> dict[str, PublicKey]:
    if len(described) > MOST_KEYS:
        raise malformed(ROOT, f"{len(described)} keys, expected at most {MOST_KEYS}")
    found = {}
    for key_id in described:
        key = _object(described, key_id, ROOT)
        pem = _object(key, "keyval", ROOT).get("public")
        if not isinstance(pem, str) or len(pem) > LONGEST_KEY:
            raise malformed(ROOT, "a key has no public part")
        # Keys of other kinds may be there; nobody here can be convinced by them.
        if (key.get("keytype"), key.get("scheme")) == (KEY_TYPE, SCHEME):
            found[key_id] = PublicKey(key_id, pem)
    return found


def _signers_of(role: dict[str, Any], keys: dict[str, PublicKey]) -> Signers:
    names, threshold = role.get("keyids"), role.get("threshold")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise malformed(ROOT, "a role names no keys")
    if type(threshold) is not int or not 1 <= threshold <= MOST_KEYS:
        raise malformed(ROOT, "a role has no threshold")
    return Signers([keys[name] for name in dict.fromkeys(names) if name in keys], threshold)


def _object(content: dict[str, Any], name: str, role: str) -> dict[str, Any]:
    found = content.get(name)
    if not isinstance(found, dict):
        raise malformed(role, f"{name[:80]!a} is no object")
    return found


def _has_hashes(described: dict[str, Any]) -> bool:
    return isinstance(described.get("hashes"), dict)


def _version_of(value: object, role: str) -> int:
    if type(value) is not int or not 1 <= value <= LARGEST_VERSION:
        raise malformed(role, "a version is no number from 1 on")
    return value


def _moment_of(value: object, role: str) -> str:
    if not isinstance(value, str) or not is_moment(value):
        raise malformed(role, "expires is no moment like 2026-11-16T17:00:00Z")
    return value


def is_moment(text: str) -> bool:
    """Say whether a text is a moment in UTC that compares with others as text."""
    return len(text) == len(_MOMENT) and all(
        "0" <= found <= "9" if expected == "0" else found == expected
        for found, expected in zip(text, _MOMENT, strict=True)
    )
