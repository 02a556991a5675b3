"""Certificates of a test cluster: one authority, and whoever it vouches for."""

import base64
import ipaddress
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


class Pair:
    """A certificate and its key, as files."""

    def __init__(self, directory: Path, name: str) -> None:
        self.certificate = directory / f"{name}.crt"
        self.key = directory / f"{name}.key"


class Authority:
    """Signs for one cluster, and keeps everything in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pair = Pair(directory, "ca")
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test-authority")])
        own = self._builder(self._name, self._key.public_key(), is_authority=True)
        _write(self.pair, own.sign(self._key, hashes.SHA256()), self._key)

    @property
    def text(self) -> str:
        """The authority's certificate in PEM."""
        return self.pair.certificate.read_text()

    def server(self, name: str, hosts: list[str]) -> Pair:
        """A certificate of a server that is reached by these names or addresses."""
        return self._sign(name, name, "", SERVER, hosts)

    def client(self, name: str, user: str, group: str = "") -> Pair:
        """A certificate of a user of the API server."""
        return self._sign(name, user, group, CLIENT, [])

    def key_pair(self, name: str) -> tuple[Path, Path]:
        """A private and a public key alone, as service account tokens need them."""
        key = ec.generate_private_key(ec.SECP256R1())
        private, public = self.directory / f"{name}.key", self.directory / f"{name}.pub"
        _write_key(private, key)
        public.write_bytes(
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        return private, public

    def _sign(
        self, name: str, user: str, group: str, usage: x509.ObjectIdentifier, hosts: list[str]
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        if group:
            names.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        builder = self._builder(x509.Name(names), key.public_key(), is_authority=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if hosts:
            known = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(known, critical=False)
        pair = Pair(self.directory, name)
        _write(pair, builder.sign(self._key, hashes.SHA256()), key)
        return pair

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        signs = x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=is_authority,
            crl_sign=is_authority, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        issuer_key = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(signs, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key),
                critical=False,
            )
        )


def write_kubeconfig(file: Path, server: str, authority: Authority, user: Pair | str) -> Path:
    """Write how somebody reaches the API server: by certificate, or by token if it is text."""
    shown = (
        {"token": user}
        if isinstance(user, str)
        else {
            "client-certificate-data": _base64(user.certificate.read_bytes()),
            "client-key-data": _base64(user.key.read_bytes()),
        }
    )
    cluster = {"server": server, "certificate-authority-data": _base64(authority.text.encode())}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": shown}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    file.write_text(json.dumps(document))
    file.chmod(0o600)
    return file


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    pair.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    _write_key(pair.key, key)


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    file.chmod(0o600)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
