"""
AWS: the instance identity document, with its RSA-2048 signature.

The proof is one of two:
- the text of `/latest/dynamic/instance-identity/rsa2048` without its line breaks: base64 of CMS,
  with the document inside;
- the base64 of `document`, a dot, and an RSA signature with SHA-256 over it, base64, for who keeps
  certificates of such a form. The public ones of `signature` have 1,024 bits and are not taken.

AWS publishes one certificate for each region and sends none along: they are pinned. A document
says when the machine was started, which a reboot does not change, and never expires: its age is
bounded here, by as long as machines run without being stopped. Whoever can read a machine's
metadata can show its document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from fairlead.hotfix.service.attestation.cms import parse_signed, verifies
from fairlead.hotfix.service.attestation.der import DerError, with_lengths
from fairlead.hotfix.service.attestation.evidence import (
    EARLY,
    EXPIRED,
    FORGED,
    MALFORMED,
    SKEW_S,
    UNTRUSTED,
    decoded,
    document,
    moment,
    pinned,
    text_at,
)
from fairlead.hotfix.service.attestation.verifier import Claims, NotAdmittedError, UnprovenError

_MOMENT = "%Y-%m-%dT%H:%M:%S%z"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSettings:
    """
    Whom to believe, and whom to serve.

    certificates: PEM by region, of one or more; only these regions are served. accounts: whose
    machines are served. oldest: since the machine was started.
    """

    certificates: Mapping[str, bytes]
    accounts: frozenset[str]
    oldest: timedelta


class AwsVerifier:
    """Verifies instance identity documents."""

    name = "aws"

    def __init__(self, settings: AwsSettings) -> None:
        self._settings = settings
        self._pinned = {
            region: pinned(pem, f"aws.certificates.{region}")
            for region, pem in settings.certificates.items()
        }

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """Return what a document proves. The machine's own name for itself proves nothing."""
        del machine
        text, dot, signature = proof.partition(".")
        if dot:
            content = decoded(text)
            signer = self._signer_of(content, decoded(signature))
        else:
            content, signer = self._signed(decoded(proof))
        if not signer.not_valid_before_utc <= now <= signer.not_valid_after_utc:
            raise UnprovenError(UNTRUSTED)
        return self._claims(content, signer, now)

    def _signed(self, message: bytes) -> tuple[bytes, x509.Certificate]:
        try:
            signed = parse_signed(with_lengths(message))
        except DerError:
            raise UnprovenError(MALFORMED) from None
        named = [one for one in self._known() if signed.is_of(one)]
        if not named or signed.certificates:
            raise UnprovenError(UNTRUSTED)
        for one in named:
            if signed.is_signed_by(one):
                return signed.content, one
        raise UnprovenError(FORGED)

    def _signer_of(self, content: bytes, signature: bytes) -> x509.Certificate:
        for one in self._known():
            if verifies(one.public_key(), signature, content, hashes.SHA256()):
                return one
        raise UnprovenError(FORGED)

    def _known(self) -> set[x509.Certificate]:
        return {one for certificates in self._pinned.values() for one in certificates}

    def _claims(self, content: bytes, signer: x509.Certificate, now: datetime) -> Claims:
        found = document(content)
        started = moment(text_at(found, "pendingTime"), _MOMENT)
        if now < started - timedelta(seconds=SKEW_S):
            raise UnprovenError(EARLY)
        until = started + self._settings.oldest
        if now >= until:
            raise UnprovenError(EXPIRED)
        instance = text_at(found, "instanceId")
        account = text_at(found, "accountId")
        region = text_at(found, "region")
        if signer not in self._pinned.get(region, ()):
            raise NotAdmittedError("region")
        if account not in self._settings.accounts:
            raise NotAdmittedError("account")
        return Claims(machine=f"aws:{instance}", region=region, account=account, until=until)
