"""A publisher of hotfix metadata made of the `tuf` library, with keys in memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import (
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    TargetFile,
    Targets,
    Timestamp,
)

from fairlead.trust.verify import Update

NOW = "2026-11-16T17:00:00Z"
SOON = datetime(2026, 11, 17, tzinfo=UTC)
PAST = datetime(2026, 11, 16, 16, 59, 59, tzinfo=UTC)
Content = TypeVar("Content", Timestamp, Snapshot, Targets)
ROLES = ("root", "timestamp", "snapshot", "targets")


def is_signed(pem: str, content: bytes, signature: bytes) -> bool:
    """As openssl answers."""
    key = load_pem_public_key(pem.encode())
    assert isinstance(key, EllipticCurvePublicKey)
    try:
        key.verify(signature, content, ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


@dataclass
class Publisher:
    """Three root keys of which two must sign, and a key for each other role."""

    keys: dict[str, list[CryptoSigner]] = field(default_factory=dict)
    roots: list[Metadata[Root]] = field(default_factory=list)
    expires: dict[str, datetime] = field(default_factory=dict)
    last_root_keys: list[CryptoSigner] = field(default_factory=list)

    def __post_init__(self) -> None:
        for role in ROLES:
            self.keys[role] = [
                CryptoSigner.generate_ecdsa() for _ in range(3 if role == "root" else 1)
            ]
        self.sign_root()

    def sign_root(
        self, signers: Iterable[CryptoSigner] | None = None, *, threshold: int = 2
    ) -> None:
        """Make the next root of the present keys, signed by two of the last and the present."""
        root = Root(version=len(self.roots) + 1, expires=SOON + timedelta(days=365))
        for role, keys in self.keys.items():
            for key in keys:
                root.add_key(key.public_key, role)
            root.roles[role].threshold = threshold if role == "root" else 1
        metadata = Metadata(root)
        old = self.last_root_keys
        for signer in signers if signers is not None else [*old[:2], *self.keys["root"][:2]]:
            metadata.sign(signer, append=True)
        self.last_root_keys = list(self.keys["root"])
        self.roots.append(metadata)

    def end_of(self, role: str) -> datetime:
        return self.expires.get(role, SOON)

    def anchor(self, version: int = 1) -> bytes:
        return self.roots[version - 1].to_bytes()

    def update(
        self, version: int = 1, fixes: Iterable[str] = ("202604.01.3",), *, roots: int = 0
    ) -> Update:
        """What a service sends: all at one version, naming each other."""
        targets = self.signed("targets", Targets(version=version, expires=self.end_of("targets")))
        for fix in fixes:
            path = f"apt/pool/fairlead-node-hotfix_{fix}_all.deb"
            custom = {"base": fix.rpartition(".")[0], "version": fix, "format": "deb"}
            described = TargetFile(1000, {"sha256": "ab" * 32}, path, {"custom": custom})
            targets.signed.targets[path] = described
        self.sign_again("targets", targets)
        return self.around(targets, version, roots=roots)

    def around(self, targets: Metadata[Targets], version: int, *, roots: int = 0) -> Update:
        """A snapshot and a timestamp for these targets."""
        text = targets.to_bytes()
        named = MetaFile.from_data(targets.signed.version, text, ["sha256"])
        snapshot = Snapshot(
            version=version, expires=self.end_of("snapshot"), meta={"targets.json": named}
        )
        signed_snapshot = self.signed("snapshot", snapshot)
        snapshot_text = signed_snapshot.to_bytes()
        newest = MetaFile.from_data(version, snapshot_text, ["sha256"])
        stamp = Timestamp(version=version, expires=self.end_of("timestamp"), snapshot_meta=newest)
        return Update(
            [root.to_bytes() for root in self.roots[roots:]],
            self.signed("timestamp", stamp).to_bytes(),
            snapshot_text,
            text,
        )

    def signed(self, role: str, content: Content) -> Metadata[Content]:
        metadata = Metadata(content)
        self.sign_again(role, metadata)
        return metadata

    def sign_again(self, role: str, metadata: Metadata[Any]) -> None:
        metadata.signatures.clear()
        for key in self.keys[role]:
            metadata.sign(key, append=True)
