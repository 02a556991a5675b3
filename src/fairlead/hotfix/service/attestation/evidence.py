"""What verifiers share: strict base64 and JSON, pinned certificates, moments."""

from __future__ import annotations

from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from fairlead.contract.json_text import Pairs, parse_json
from fairlead.errors import InputError
from fairlead.hotfix.service.attestation.verifier import UnprovenError

# Characters of a proof, bytes of a document. Real ones have 8,000 and 1,500.
LONGEST_PROOF = 32 * 1024
LONGEST_DOCUMENT = 8 * 1024
LONGEST_TEXT = 253

# A cloud's clock, and ours.
SKEW_S = 120

# What comes of reading a certificate, or a document of CMS, that is none.
UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)

_DEEPEST = 8

MALFORMED = "malformed"
FORGED = "forged"
UNTRUSTED = "untrusted signer"
EXPIRED = "expired"
EARLY = "not yet valid"


def decoded(text: str) -> bytes:
    """Return the bytes of base64 in its one spelling. Raises UnprovenError."""
    if len(text) > LONGEST_PROOF:
        raise UnprovenError("too long")
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        raise UnprovenError(MALFORMED) from None
    if not data or b64encode(data).decode() != text:
        raise UnprovenError(MALFORMED)
    return data


def url_decoded(text: str) -> bytes:
    """Return the bytes of base64url without padding, in its one spelling. Raises UnprovenError."""
    if len(text) > LONGEST_PROOF:
        raise UnprovenError("too long")
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise UnprovenError(MALFORMED) from None
    if not data or url_encoded(data) != text:
        raise UnprovenError(MALFORMED)
    return data


def url_encoded(data: bytes) -> str:
    """Return base64url without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def document(data: bytes) -> dict[str, Any]:
    """Return a JSON object in which no name comes twice. Raises UnprovenError."""
    if len(data) > LONGEST_DOCUMENT:
        raise UnprovenError("too long")
    try:
        found = _plain(parse_json(data, deepest=_DEEPEST))
    except InputError:
        raise UnprovenError(MALFORMED) from None
    if not isinstance(found, dict):
        raise UnprovenError(MALFORMED)
    return found


def text_at(found: dict[str, Any], *path: str) -> str:
    """Return the text at a path. Raises UnprovenError if there is none, or it is no name."""
    value: Any = found
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not _is_name(value):
        raise UnprovenError(MALFORMED)
    return value


def moment(text: str, form: str) -> datetime:
    """Return a moment with its zone. Raises UnprovenError."""
    try:
        found = datetime.strptime(text, form)  # noqa: DTZ007 - the next line asks for the zone
    except ValueError:
        raise UnprovenError(MALFORMED) from None
    if found.tzinfo is None:
        raise UnprovenError(MALFORMED)
    return found


def pinned(pem: bytes, field: str) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a file. Raises InputError."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        raise InputError("found no certificates, expected PEM", field=field) from None


def _is_name(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        names = dict(value)
        if len(names) != len(value):
            raise InputError("found a name twice")
        return {name: _plain(inner) for name, inner in value}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
