"""A release of hotfix metadata as the publishing side makes it, with keys in memory."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from securesystemslib.signer import CryptoSigner

from fairlead import __version__
from fairlead.contract.hotfix.answer import render_answer
from fairlead.hotfix.publish import metadata
from fairlead.hotfix.publish.metadata import PackageFile, RoleKeys, Signed, Signers

BASE = __version__.rpartition(".")[0]


def package_of(version: str) -> PackageFile:
    return PackageFile(
        path=f"apt/pool/fairlead-node-hotfix_{version}_all.deb",
        length=3,
        sha256="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        base=version.rpartition(".")[0],
        version=version,
        format="deb",
    )


@dataclass
class Release:
    """Three root keys of which two must sign, a release key, an online key."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    roots: tuple[CryptoSigner, ...] = field(
        default_factory=lambda: tuple(CryptoSigner.generate_ecdsa() for _ in range(3))
    )
    release: CryptoSigner = field(default_factory=CryptoSigner.generate_ecdsa)
    online: CryptoSigner = field(default_factory=CryptoSigner.generate_ecdsa)

    def __post_init__(self) -> None:
        self.signed: Signed = metadata.start(self.keys(), self.signers(), self.now)

    def keys(self) -> RoleKeys:
        return RoleKeys(
            root=tuple(key.public_key for key in self.roots),
            release=self.release.public_key,
            online=self.online.public_key,
            threshold=2,
        )

    def signers(self) -> Signers:
        return Signers(release=self.release, online=self.online, root=self.roots)

    def publish(self, *versions: str, revoked: tuple[str, ...] = ()) -> None:
        packages = [package_of(version) for version in versions]
        self.signed = metadata.publish(self.signed, packages, revoked, self.signers(), self.now)

    def anchor(self) -> bytes:
        return self.signed.roots[0]

    def answer(self, hotfixes: dict[str, str | None]) -> bytes:
        return render_answer(hotfixes, self.signed.encode())
