"""
The payload service's own certificate authority, and the certificate that it serves with.

A certificate and its key are in one file that is replaced in one rename, so no crash leaves one
without the other. The authority stays for as long as its file does: every machine's user data
names it, and another one would be refused by machines that are about to boot.

So the next authority is announced long before it serves: user data names both, and is refreshed
without touching a machine. No boot that began before lasts until the next one takes over. A
provisioned machine has nothing to ask, and need not know. Somebody may ask for the next one before
its time; then boots that began before are waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.answers.reply import Authorities, Authority
from fairlead.errors import InputError
from fairlead.telling.errno_text import problem_text
from fairlead.whole_file import write_whole

AUTHORITY_FILE = "authority.pem"
NEXT_AUTHORITY_FILE = "next-authority.pem"
SERVER_FILE = "server.pem"

AUTHORITY_LIFE = timedelta(days=3653)
SERVER_LIFE = timedelta(days=365)
RENEWED_BEFORE_END = timedelta(days=30)

# When the next authority is announced, and for how long before it takes over. Until then there is
# time for a server certificate of its whole life.
ANNOUNCED_BEFORE_END = timedelta(days=400)
ANNOUNCED_FOR = timedelta(days=30)

# When an announced authority takes over is in the first line of its file.
TAKES_OVER = b"takes over at "

# By then the user data of every pool names both. Machines that got power before may know one only,
# and their boots are waited for, unless they last this long.
KNOWN_AFTER = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)

# A machine whose clock is behind must not find a certificate that is not valid yet.
BACKDATED = timedelta(days=1)

LOCAL_NAMES = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Certificates:
    """
    What the payload service serves with, and what its machines trust.

    ca_pem: one authority, or two while the next is announced. takes_over_at: when the next one
    will be the only one, if it is announced. The two files may be one and the same: it holds the
    certificate and the key.
    """

    ca_pem: str
    certificate_file: Path
    key_file: Path
    takes_over_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Signed:
    """asked_for: when somebody wants an announced authority to take over, if not in its time."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    asked_for: datetime | None = None

    @property
    def since(self) -> datetime:
        """When it was made; announced in the same moment, if it is the next one."""
        return self.certificate.not_valid_before_utc + BACKDATED

    @property
    def takes_over_at(self) -> datetime:
        """When it takes over, if it is the next one."""
        return self.asked_for or self.since + ANNOUNCED_FOR


def make_or_read(
    directory: Path,
    names: Iterable[str] = (),
    *,
    now: datetime | None = None,
    is_awaited: Callable[[datetime], bool] = lambda _: False,
) -> Certificates:
    """
    Afterwards there is an authority, and a server certificate of it with a month to go.

    names: host names and addresses beside the local ones. is_awaited: says whether a machine still
    boots that was told of no authority announced at this moment, so that it must wait. Raises
    InputError if the authority's file cannot be read; it is never replaced by anything but the
    next one, in its time.
    """
    moment = now or datetime.now(UTC)
    authority, announced = _authorities(directory, moment, is_awaited)
    server_file = directory / SERVER_FILE
    wanted = sorted({*LOCAL_NAMES, *names})
    if not _is_usable(server_file, authority, wanted, moment):
        _write(server_file, _issued(authority, wanted, moment))
    trusted = [authority, announced] if announced else [authority]
    return Certificates(
        ca_pem="".join(_pem_of(one) for one in trusted),
        certificate_file=server_file,
        key_file=server_file,
        takes_over_at=announced.takes_over_at if announced else None,
    )


def announce(directory: Path, now: datetime, overlap: timedelta) -> None:
    """
    From here on machines are told of the next authority, which takes over after the overlap.

    One that is announced already stays, and takes over earlier if that is what is asked for.
    """
    at = now + overlap
    found = _find(directory / NEXT_AUTHORITY_FILE)
    if found is None or found.takes_over_at > at:
        signed = found or _made_authority(now)
        _write(directory / NEXT_AUTHORITY_FILE, replace(signed, asked_for=at))


def show(directory: Path, now: datetime) -> Authorities:
    """Return what serves, and what will. Raises InputError if it cannot be read."""
    authority = _read_authority(directory / AUTHORITY_FILE)
    announced = _find(directory / NEXT_AUTHORITY_FILE)
    server = _find(directory / SERVER_FILE)
    return Authorities(
        authority=_told(authority, now),
        server_until=server.certificate.not_valid_after_utc if server else None,
        next=_told(announced, now) if announced else None,
        takes_over_at=announced.takes_over_at if announced else None,
    )


def _told(signed: _Signed, now: datetime) -> Authority:
    found = signed.certificate
    return Authority(
        fingerprint=found.fingerprint(hashes.SHA256()).hex(),
        since=found.not_valid_before_utc + BACKDATED,
        until=found.not_valid_after_utc,
        days_left=(found.not_valid_after_utc - now).days,
    )


def _authorities(
    directory: Path, now: datetime, is_awaited: Callable[[datetime], bool]
) -> tuple[_Signed, _Signed | None]:
    """Return the authority that serves, and the next one if machines are told of it already."""
    file, next_file = directory / AUTHORITY_FILE, directory / NEXT_AUTHORITY_FILE
    if not file.exists():
        _write(file, _made_authority(now))
    authority = _read_authority(file)
    end = authority.certificate.not_valid_after_utc
    announced = _find(next_file)
    if announced is None and now + ANNOUNCED_BEFORE_END < end:
        return authority, None
    if announced is None:
        # One that is lost or spoiled has not served yet: machines trust the present one as well.
        announced = _made_authority(now)
        _write(next_file, announced)
    if now < end and (now < announced.takes_over_at or _must_wait(announced, now, is_awaited)):
        return authority, announced
    next_file.replace(file)
    return announced, None


def _must_wait(announced: _Signed, now: datetime, is_awaited: Callable[[datetime], bool]) -> bool:
    """Say whether a boot from before must end first. It is not waited for without end."""
    known = announced.since + KNOWN_AFTER
    return now < announced.takes_over_at + LONGEST_WAIT and (now < known or is_awaited(known))


def _find(file: Path) -> _Signed | None:
    try:
        return _read(file)
    except (OSError, ValueError):
        return None


def _pem_of(signed: _Signed) -> str:
    return signed.certificate.public_bytes(Encoding.PEM).decode()


def _read_authority(file: Path) -> _Signed:
    try:
        return _read(file)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} holds no certificate with its key: {problem_text(error)}",
            hint="restore it; if it is lost, remove it and replace every machine",
        ) from error


def _read(file: Path) -> _Signed:
    text = file.read_bytes()
    key = load_pem_private_key(text, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("found a key of another kind")  # noqa: TRY004 - the file's content is wrong
    certificate = x509.load_pem_x509_certificate(text)
    if certificate.public_key() != key.public_key():
        raise ValueError("the key is not the certificate's")
    return _Signed(certificate, key, _asked_for(text))


def _asked_for(text: bytes) -> datetime | None:
    """Return the moment that stands before the certificate, as RFC 7468 allows; None if none."""
    first = text.partition(b"\n")[0]
    if not first.startswith(TAKES_OVER):
        return None
    moment = datetime.fromisoformat(first.removeprefix(TAKES_OVER).decode())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_usable(file: Path, authority: _Signed, names: list[str], now: datetime) -> bool:
    try:
        found = _read(file).certificate
        found.verify_directly_issued_by(authority.certificate)
        held = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False  # a server certificate is made again at no cost
    has_names = list(held) == [_general_name(name) for name in names]
    lasts = now + RENEWED_BEFORE_END <= found.not_valid_after_utc
    return has_names and lasts and found.not_valid_before_utc <= now


def _made_authority(now: datetime) -> _Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Fairlead payload authority")
    builder = (
        _builder(name, key, now, now + AUTHORITY_LIFE)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    return _Signed(builder.sign(key, hashes.SHA256()), key)


def _issued(authority: _Signed, names: list[str], now: datetime) -> _Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(now + SERVER_LIFE, authority.certificate.not_valid_after_utc)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
    builder = (
        _builder(_name("Fairlead payload service"), key, now, end)
        .issuer_name(authority.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(signer, critical=False)
        .add_extension(alternatives, critical=False)
    )
    return _Signed(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(end)
        .add_extension(identifier, critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(file: Path, signed: _Signed) -> None:
    asked = signed.asked_for
    header = TAKES_OVER + asked.isoformat().encode() + b"\n" if asked else b""
    content = (
        header
        + signed.certificate.public_bytes(Encoding.PEM)
        + signed.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    write_whole(file, content)
