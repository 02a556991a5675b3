"""
A signed document of a cloud: SignedData of CMS (PKCS#7, RFC 5652), read strictly.

One signer, RSA, SHA-2, the document inside. What no signature covers and nobody needs is refused,
so that a document cannot be changed in any byte and still count: other versions, lists of
revocations, attributes that are not signed, more than one digest.

Azure names the signature (sha256WithRSAEncryption) where a digest is expected, and signs without
attributes; AWS signs attributes, and sends no certificate along.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding

from fairlead.hotfix.service.attestation.der import (
    FIRST,
    INTEGER,
    NULL,
    OBJECT,
    OCTETS,
    SEQUENCE,
    SET,
    DerError,
    Element,
    Reader,
    integer,
    object_name,
)

# Bits. What AWS signs with 1,024 bits, or with DSA and SHA-1, is not taken.
SHORTEST_KEY = 2048

MOST_CERTIFICATES = 4

_SIGNED_DATA = "1.2.840.113549.1.7.2"
_DATA = "1.2.840.113549.1.7.1"
_CONTENT_TYPE = "1.2.840.113549.1.9.3"
_MESSAGE_DIGEST = "1.2.840.113549.1.9.4"
_SIGNING_TIME = "1.2.840.113549.1.9.5"
_ALGORITHM_PROTECTION = "1.2.840.113549.1.9.52"
_CAPABILITIES = "1.2.840.113549.1.9.15"
_ATTRIBUTES = {
    _CONTENT_TYPE, _MESSAGE_DIGEST, _SIGNING_TIME, _ALGORITHM_PROTECTION, _CAPABILITIES,
}  # fmt: skip

_RSA = "1.2.840.113549.1.1.1"
_DIGESTS: dict[str, hashes.HashAlgorithm] = {
    "2.16.840.1.101.3.4.2.1": hashes.SHA256(),
    "2.16.840.1.101.3.4.2.2": hashes.SHA384(),
    "2.16.840.1.101.3.4.2.3": hashes.SHA512(),
    "1.2.840.113549.1.1.11": hashes.SHA256(),
    "1.2.840.113549.1.1.12": hashes.SHA384(),
    "1.2.840.113549.1.1.13": hashes.SHA512(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """
    What a message says, and nothing of it is proven yet.

    content: the document. certificates: DER, as they came along. issuer, serial: of the signer's
    certificate. covered: what the signature is over.
    """

    content: bytes
    certificates: tuple[bytes, ...]
    issuer: bytes
    serial: int
    digest: hashes.HashAlgorithm
    covered: bytes
    signature: bytes

    def is_of(self, certificate: x509.Certificate) -> bool:
        """Say whether it names this certificate as its signer's."""
        return _named(certificate.public_bytes(Encoding.DER)) == (self.issuer, self.serial)

    def is_signed_by(self, certificate: x509.Certificate) -> bool:
        """Say whether the key of this certificate made the signature."""
        key = certificate.public_key()
        return verifies(key, self.signature, self.covered, self.digest)


def verifies(key: object, signature: bytes, covered: bytes, digest: hashes.HashAlgorithm) -> bool:
    """Say whether an RSA key that is long enough made this signature."""
    if not isinstance(key, RSAPublicKey) or key.key_size < SHORTEST_KEY:
        return False
    try:
        key.verify(signature, covered, PKCS1v15(), digest)
    except InvalidSignature:
        return False
    return True


def parse_signed(message: bytes) -> Signed:
    """Read a message. Raises DerError if it is anything else."""
    outer = Reader(message)
    information = outer.inside(SEQUENCE)
    outer.end()
    _expect(information.take(OBJECT), _SIGNED_DATA)
    explicit = information.inside(FIRST)
    information.end()
    data = explicit.inside(SEQUENCE)
    explicit.end()
    _expect_version(data)
    digests = data.inside(SET)
    digest_name = _algorithm(digests.inside(SEQUENCE))
    digests.end()
    content = _content(data.inside(SEQUENCE))
    certificates = _certificates(data.take_if(FIRST))
    signers = data.inside(SET)
    data.end()
    signer = signers.inside(SEQUENCE)
    signers.end()
    return _signer(signer, digest_name, content, certificates)


def _signer(
    signer: Reader, digest_name: str, content: bytes, certificates: tuple[bytes, ...]
) -> Signed:
    _expect_version(signer)
    identifier = signer.inside(SEQUENCE)
    issuer = identifier.take(SEQUENCE).whole
    serial = integer(identifier.take(INTEGER))
    identifier.end()
    if _algorithm(signer.inside(SEQUENCE)) != digest_name or digest_name not in _DIGESTS:
        raise DerError("found no digest that is known, and the same twice")
    digest = _DIGESTS[digest_name]
    attributes = signer.take_if(FIRST)
    if _algorithm(signer.inside(SEQUENCE)) != _RSA:
        raise DerError("found a signature that is not by RSA")
    signature = signer.take(OCTETS).content
    signer.end()
    covered = content if attributes is None else _covered(attributes, content, digest)
    return Signed(
        content=content,
        certificates=certificates,
        issuer=issuer,
        serial=serial,
        digest=digest,
        covered=covered,
        signature=signature,
    )


def _content(encapsulated: Reader) -> bytes:
    _expect(encapsulated.take(OBJECT), _DATA)
    explicit = encapsulated.inside(FIRST)
    encapsulated.end()
    content = explicit.take(OCTETS).content
    explicit.end()
    return content


def _certificates(element: Element | None) -> tuple[bytes, ...]:
    if element is None:
        return ()
    reader = Reader(element.content)
    found = []
    while not reader.is_at_end:
        found.append(reader.take(SEQUENCE).whole)
    if not found or len(found) > MOST_CERTIFICATES:
        raise DerError(f"found {len(found)} certificates, expected 1 to {MOST_CERTIFICATES}")
    return tuple(found)


def _covered(attributes: Element, content: bytes, digest: hashes.HashAlgorithm) -> bytes:
    """Return what the signature is over: the attributes, which must name this very content."""
    found: dict[str, Element] = {}
    reader = Reader(attributes.content)
    while not reader.is_at_end:
        attribute = reader.inside(SEQUENCE)
        name = object_name(attribute.take(OBJECT))
        values = attribute.inside(SET)
        attribute.end()
        if name in found or name not in _ATTRIBUTES:
            raise DerError(f"found the attribute {name}, unknown or twice")
        found[name] = values.take_any()
        values.end()
    hasher = hashes.Hash(digest)
    hasher.update(content)
    if not {_CONTENT_TYPE, _MESSAGE_DIGEST} <= set(found):
        raise DerError("found attributes without type and digest of the content")
    _expect(found[_CONTENT_TYPE], _DATA)
    named = found[_MESSAGE_DIGEST]
    if named.tag != OCTETS or named.content != hasher.finalize():
        raise DerError("found the digest of another content")
    # Signed as the set that they are, without the tag of their place in the message.
    return bytes([SET]) + attributes.whole[1:]


def _named(certificate: bytes) -> tuple[bytes, int]:
    """Return issuer and serial number as they are written: exact bytes are compared."""
    body = Reader(certificate).inside(SEQUENCE).inside(SEQUENCE)
    body.take_if(FIRST)
    serial = integer(body.take(INTEGER))
    body.take(SEQUENCE)
    return body.take(SEQUENCE).whole, serial


def _algorithm(algorithm: Reader) -> str:
    name = object_name(algorithm.take(OBJECT))
    # Both clouds write it, so its absence is not a second spelling.
    parameters = algorithm.take(NULL)
    algorithm.end()
    if parameters.content:
        raise DerError("found parameters of an algorithm that has none")
    return name


def _expect(element: Element, name: str) -> None:
    found = object_name(element) if element.tag == OBJECT else f"tag {element.tag:#x}"
    if found != name:
        raise DerError(f"found {found}, expected {name}")


def _expect_version(reader: Reader) -> None:
    if integer(reader.take(INTEGER)) != 1:
        raise DerError("found a version that is not 1")
