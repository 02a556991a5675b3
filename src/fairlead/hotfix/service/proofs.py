"""
Who asks: proofs through the verifiers of a service, with what was proven kept for a while.

A proof is kept as a hash, and for no longer than its verifier says. Whatever is refused is counted
by its cause; nothing here tells or keeps what was shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from fairlead.hotfix.service.asked import Status
from fairlead.hotfix.service.attestation.verifier import (
    AttestationVerifier,
    Claims,
    NotAdmittedError,
    UnprovenError,
)

# Characters: an attested document with its certificates has 6,000.
LONGEST_PROOF = 32 << 10
LONGEST_MACHINE_NAME = 253

# Of machines that ask within the life of a proof, most ask once or twice.
MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nobody is answered; cause: one safe word, for those who run the service."""

    status: Status
    cause: str


class Proofs:
    """What verifiers say of proofs. refused: how often, by status and cause."""

    def __init__(self, verifiers: Sequence[AttestationVerifier]) -> None:
        self._verifiers = tuple(verifiers)
        self._kept: dict[bytes, Claims] = {}
        self.refused: Counter[tuple[str, str]] = Counter()

    def check(self, proof: str, machine: str, now: datetime) -> Claims | Refusal:
        """Return what a proof proves, or why it proves nothing here."""
        if not proof or len(proof) > LONGEST_PROOF or len(machine) > LONGEST_MACHINE_NAME:
            return Refusal(Status.UNAUTHENTICATED, "no proof" if not proof else "too long")
        key = sha256(f"{machine}\n{proof}".encode(errors="surrogatepass")).digest()
        kept = self._kept.get(key)
        if kept is not None and kept.until is not None and now < kept.until:
            return kept
        found = self._ask(proof, machine, now)
        if isinstance(found, Claims) and found.until is not None:
            self._keep(key, found, now)
        return found

    def _ask(self, proof: str, machine: str, now: datetime) -> Claims | Refusal:
        """Ask one verifier after the other. Who knows the proof and does not admit it decides."""
        causes: list[str] = []
        for verifier in self._verifiers:
            try:
                return verifier.verify(proof, machine, now)
            except NotAdmittedError as error:
                return Refusal(Status.PERMISSION_DENIED, f"{verifier.name}: {error.cause}")
            except UnprovenError as error:
                causes.append(f"{verifier.name}: {error.cause}")
        return Refusal(Status.UNAUTHENTICATED, "; ".join(causes) or "no verifier")

    def _keep(self, key: bytes, claims: Claims, now: datetime) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._kept = {
                known: one
                for known, one in list(self._kept.items())
                if one.until is not None and now < one.until
            }
        if len(self._kept) >= MOST_KEPT:
            self._kept.pop(next(iter(list(self._kept))), None)
        self._kept[key] = claims
