"""
GCP: an identity token of the metadata service, a JSON web token (RFC 7519) signed with RS256.

The proof is the text of `/computeMetadata/v1/instance/service-accounts/default/identity` with
`format=full` and this service as audience. Google's keys change every few days: they are a file,
https://www.googleapis.com/oauth2/v3/certs, which somebody keeps fresh and `keys` reads.

One algorithm, one signature and five claims: no library decides here what a token may say.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers

from fairlead.errors import InputError
from fairlead.hotfix.service.attestation.cms import verifies
from fairlead.hotfix.service.attestation.evidence import (
    EARLY,
    EXPIRED,
    FORGED,
    LONGEST_DOCUMENT,
    LONGEST_PROOF,
    MALFORMED,
    SKEW_S,
    UNTRUSTED,
    document,
    text_at,
    url_decoded,
)
from fairlead.hotfix.service.attestation.verifier import Claims, NotAdmittedError, UnprovenError
from fairlead.telling.errno_text import problem_text

ISSUER = "https://accounts.google.com"

# Tokens are good for an hour.
LONGEST_LIFE = timedelta(hours=2)

MOST_KEYS = 16
_PARTS = 3

Keys = dict[str, RSAPublicKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpSettings:
    """
    Whom to believe, and whom to serve.

    audience: of tokens that are meant for this service. keys: by their ids, asked for at every
    token. projects: whose machines are served. regions: served ones.
    """

    audience: str
    keys: Callable[[], Keys]
    projects: frozenset[str]
    regions: Container[str]


class GcpVerifier:
    """Verifies identity tokens."""

    name = "gcp"

    def __init__(self, settings: GcpSettings) -> None:
        self._settings = settings

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """Return what a token proves. The machine's own name for itself proves nothing."""
        del machine
        parts = proof.split(".") if len(proof) <= LONGEST_PROOF else []
        if len(parts) != _PARTS:
            raise UnprovenError(MALFORMED)
        head, body, signature = (url_decoded(part) for part in parts)
        header = document(head)
        if header.get("alg") != "RS256" or header.get("typ", "JWT") != "JWT" or "crit" in header:
            raise UnprovenError(MALFORMED)
        key = self._settings.keys().get(text_at(header, "kid"))
        if key is None:
            raise UnprovenError(UNTRUSTED)
        covered = f"{parts[0]}.{parts[1]}".encode()
        if not verifies(key, signature, covered, hashes.SHA256()):
            raise UnprovenError(FORGED)
        return self._claims(document(body), now)

    def _claims(self, found: dict[str, Any], now: datetime) -> Claims:
        if text_at(found, "iss") != ISSUER:
            raise UnprovenError(UNTRUSTED)
        if text_at(found, "aud") != self._settings.audience:
            raise UnprovenError("audience")
        until = _check_time(found, now)
        instance = text_at(found, "google", "compute_engine", "instance_id")
        project = text_at(found, "google", "compute_engine", "project_id")
        region = text_at(found, "google", "compute_engine", "zone").rpartition("-")[0]
        if project not in self._settings.projects:
            raise NotAdmittedError("project")
        if region not in self._settings.regions:
            raise NotAdmittedError("region")
        return Claims(machine=f"gcp:{instance}", region=region, account=project, until=until)


def parse_keys(text: bytes) -> Keys:
    """Return the keys of a JSON web key set that can sign tokens. Raises InputError."""
    try:
        listed = document(text).get("keys")
        if not isinstance(listed, list) or not 0 < len(listed) <= MOST_KEYS:
            raise InputError(f"found no list of 1 to {MOST_KEYS} keys", field="keys")
        found = dict(_key(entry) for entry in listed if isinstance(entry, dict))
    except (UnprovenError, ValueError):
        raise InputError("found no set of RSA keys", field="keys") from None
    if len(found) != len(listed):
        raise InputError("found a key that is none, or an id twice", field="keys")
    return found


class KeysFile:
    """
    The keys of a file that somebody keeps fresh, read again when it is another one.

    A file that cannot be used changes nothing; `problem` says why.
    """

    def __init__(self, path: Path) -> None:
        self.problem = ""
        self._path = path
        self._seen = (0, 0, 0)
        self._keys = self._read()

    def __call__(self) -> Keys:
        """Return the keys."""
        try:
            if self._stamp() != self._seen:
                self._keys = self._read()
                self.problem = ""
        except (OSError, InputError) as error:
            self.problem = f"the new keys are not in use: {problem_text(error)}"
        return self._keys

    def _read(self) -> Keys:
        self._seen = self._stamp()
        with self._path.open("rb") as file:
            return parse_keys(file.read(LONGEST_DOCUMENT + 1))

    def _stamp(self) -> tuple[int, int, int]:
        stat = self._path.stat()
        return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _key(entry: dict[str, Any]) -> tuple[str, RSAPublicKey]:
    modulus, exponent = (
        int.from_bytes(url_decoded(entry[name]) if isinstance(entry.get(name), str) else b"", "big")
        for name in ("n", "e")
    )
    if entry.get("kty") != "RSA" or entry.get("use", "sig") != "sig":
        raise InputError("found a key that is not for RSA signatures", field="keys")
    return text_at(entry, "kid"), RSAPublicNumbers(exponent, modulus).public_key()


def _check_time(found: dict[str, Any], now: datetime) -> datetime:
    start, end = (_moment(found.get(name)) for name in ("iat", "exp"))
    if not timedelta() < end - start <= LONGEST_LIFE:
        raise UnprovenError(MALFORMED)
    if now >= end:
        raise UnprovenError(EXPIRED)
    if now < start - timedelta(seconds=SKEW_S):
        raise UnprovenError(EARLY)
    return end


def _moment(value: object) -> datetime:
    # Seconds until the year 3000; True is an int, too.
    if type(value) is not int or not 0 < value < 32_503_680_000:  # noqa: PLR2004
        raise UnprovenError(MALFORMED)
    return datetime.fromtimestamp(value, UTC)
