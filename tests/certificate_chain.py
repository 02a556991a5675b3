"""Certificates of a test's own: an authority, what it issues, and both as PEM."""

from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
LAST = datetime(2036, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: PrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def write(self, certificate_file: Path, key_file: Path, *chain: "Issued") -> None:
        certificate_file.write_bytes(b"".join(one.pem for one in (self, *chain)))
        key_file.write_bytes(self.key_pem())


@dataclass(frozen=True)
class Wanted:
    """What a certificate says, beside who issued it."""

    name: str
    names: tuple[str, ...] = ()
    first: datetime = FIRST
    last: datetime = LAST
    is_authority: bool = False


def ec_key() -> PrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def rsa_key(bits: int = 2048) -> PrivateKey:
    return rsa.generate_private_key(65537, bits)


def issue(wanted: Wanted, issuer: Issued | None = None, key: PrivateKey | None = None) -> Issued:
    """Issue a certificate; without an issuer it signs itself."""
    key = key or ec_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, wanted.name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(wanted.first)
        .not_valid_after(wanted.last)
        .add_extension(x509.BasicConstraints(wanted.is_authority, None), critical=True)
        .add_extension(_usage(is_authority=wanted.is_authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    signer = issuer.key if issuer else key
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if not wanted.is_authority:
        purposes = x509.ExtendedKeyUsage(
            [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        )
        builder = builder.add_extension(purposes, critical=False)
    if wanted.names:
        builder = builder.add_extension(_alternatives(wanted.names), critical=False)
    return Issued(builder.sign(signer, hashes.SHA256()), key)


def authority(name: str = "test root", key: PrivateKey | None = None) -> Issued:
    return issue(Wanted(name, is_authority=True), key=key)


def _alternatives(names: tuple[str, ...]) -> x509.SubjectAlternativeName:
    found: list[x509.GeneralName] = []
    for name in names:
        is_address = name.replace(".", "").isdigit()
        found.append(x509.IPAddress(ip_address(name)) if is_address else x509.DNSName(name))
    return x509.SubjectAlternativeName(found)


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
