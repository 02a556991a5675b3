"""No attestation at all, for a lab: whoever asks is believed to be who it says it is."""

from __future__ import annotations

from datetime import datetime

from fairlead.hotfix.service.attestation.verifier import Claims, UnprovenError

LAB_REGION = "local"


class LabVerifier:
    """Believes the name in Fairlead-Machine, whatever the proof is."""

    name = "lab"

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """Return the machine that the caller says it is; nothing was proven."""
        del proof, now
        if not machine:
            raise UnprovenError("nameless")
        return Claims(machine=machine, region=LAB_REGION)
