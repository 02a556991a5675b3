"""
The seam of attestation: a proof goes in, what it proves comes out, or one of two refusals.

Implementations: Azure, AWS, GCP, join token; on an embedded control plane the machine's own token.
A verifier never repeats what it was shown: neither an error nor a log line holds a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fairlead.errors import TrustError


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """
    What a proof proves.

    machine: stable for one machine, and nobody else's; its place in line for a fix follows from
    it. region: as switches name it. account: subscription, account or project; pool: where known.
    until: the proof need not be checked again before this moment.
    """

    machine: str
    region: str
    account: str = ""
    pool: str = ""
    until: datetime | None = None


class UnprovenError(TrustError):
    """The proof does not hold: malformed, forged, expired, replayed. `cause` is one safe word."""

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(f"attestation refused: {cause}")


class NotAdmittedError(TrustError):
    """The proof holds, but this machine is not served here: region, account or pool."""

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(f"attested, but not admitted: {cause}")


class AttestationVerifier(Protocol):
    """One kind of proof."""

    name: str

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """
        Return what the proof proves. Raises UnprovenError or NotAdmittedError.

        machine: the name in Fairlead-Machine, which proves nothing by itself; '' if there is none.
        """
