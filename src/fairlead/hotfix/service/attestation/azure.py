"""
Azure: the attested document of the instance metadata service, as the AKS node controller sends it.

The proof is the field `signature` of `/metadata/attested/document`: base64 of CMS. Its signer has
a certificate of a public authority for a name below metadata.azure.com. Azure sends that one along
and not what issued it, so intermediates are pinned beside the roots; nothing is fetched. Revocation
is not asked for. Sovereign clouds have other domains.

The region is the label in front of the domain in the signer's certificate, where it has one.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from fairlead.hotfix.service.attestation.cms import parse_signed
from fairlead.hotfix.service.attestation.evidence import (
    EARLY,
    EXPIRED,
    FORGED,
    MALFORMED,
    SKEW_S,
    UNREADABLE,
    UNTRUSTED,
    decoded,
    document,
    moment,
    pinned,
    text_at,
)
from fairlead.hotfix.service.attestation.verifier import Claims, NotAdmittedError, UnprovenError

DOMAIN = "metadata.azure.com"

# Documents are good for six hours; more than a day is not of their shape.
LONGEST_LIFE = timedelta(hours=24)

# Certificates between the signer's and a root.
LONGEST_CHAIN = 3

_MOMENT = "%m/%d/%y %H:%M:%S %z"


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureSettings:
    """
    Whom to believe, and whom to serve.

    roots, intermediates: PEM. subscriptions: whose machines are served. regions: served ones.
    region: of machines whose document does not name one. nonce: which every document must hold,
    '' for any; an AKS node controller sends none of ours.
    """

    roots: bytes
    intermediates: bytes = b""
    subscriptions: frozenset[str]
    regions: Container[str]
    region: str = ""
    nonce: str = ""
    domain: str = DOMAIN


class AzureVerifier:
    """Verifies attested documents."""

    name = "azure"

    def __init__(self, settings: AzureSettings) -> None:
        self._settings = settings
        self._store = Store(list(pinned(settings.roots, "azure.roots")))
        between = settings.intermediates
        self._intermediates = pinned(between, "azure.intermediates") if between else ()

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """Return what a document proves. The machine's own name for itself proves nothing."""
        del machine
        try:
            signed = parse_signed(decoded(proof))
            # The signer's certificate and no other: nothing covers what else is in there.
            (certificate,) = map(x509.load_der_x509_certificate, signed.certificates)
            if not signed.is_of(certificate):
                raise UnprovenError(UNTRUSTED)
            names = self._trusted_names(certificate, now)
            is_signed = signed.is_signed_by(certificate)
        except UNREADABLE:  # of a certificate also later, where its parts are asked for
            raise UnprovenError(MALFORMED) from None
        if not is_signed:
            raise UnprovenError(FORGED)
        return self._claims(signed.content, names, now)

    def _trusted_names(self, certificate: x509.Certificate, now: datetime) -> list[str]:
        """Return the names below the domain that the signer may use at this moment."""
        domain = self._settings.domain
        names = [
            name for name in _names_of(certificate) if name == domain or name.endswith(f".{domain}")
        ]
        if not names:
            raise UnprovenError(UNTRUSTED)
        asked = x509.DNSName(names[0].replace("*", "any"))
        builder = PolicyBuilder().store(self._store).time(now).max_chain_depth(LONGEST_CHAIN)
        try:
            builder.build_server_verifier(asked).verify(certificate, list(self._intermediates))
        except VerificationError:
            raise UnprovenError(UNTRUSTED) from None
        return names

    def _claims(self, content: bytes, names: list[str], now: datetime) -> Claims:
        found = document(content)
        start = moment(text_at(found, "timeStamp", "createdOn"), _MOMENT)
        end = moment(text_at(found, "timeStamp", "expiresOn"), _MOMENT)
        _check_time(start, end, now)
        settings = self._settings
        if settings.nonce and text_at(found, "nonce") != settings.nonce:
            raise UnprovenError("nonce")
        subscription = text_at(found, "subscriptionId")
        machine = text_at(found, "vmId")
        region = self._region(names)
        if subscription not in settings.subscriptions:
            raise NotAdmittedError("subscription")
        if region not in settings.regions:
            raise NotAdmittedError("region")
        return Claims(machine=f"azure:{machine}", region=region, account=subscription, until=end)

    def _region(self, names: list[str]) -> str:
        labels = {name.removesuffix(self._settings.domain).rstrip(".") for name in names}
        regions = {label for label in labels if label.isalnum()}
        return regions.pop() if len(regions) == 1 else self._settings.region


def _names_of(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return extension.value.get_values_for_type(x509.DNSName)


def _check_time(start: datetime, end: datetime, now: datetime) -> None:
    if not timedelta() < end - start <= LONGEST_LIFE:
        raise UnprovenError(MALFORMED)
    if now >= end:
        raise UnprovenError(EXPIRED)
    if now < start - timedelta(seconds=SKEW_S):
        raise UnprovenError(EARLY)
