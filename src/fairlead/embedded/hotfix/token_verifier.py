"""
Attestation on an embedded control plane: a machine proves itself by the token that it boots with.

The same token fetches its node config. It is good while the boot is under way, so nothing of what
it proves is kept: the next question may come after the boot's end.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from fairlead.errors import UnavailableError
from fairlead.hotfix.service.attestation.verifier import Claims, NotAdmittedError, UnprovenError
from fairlead.payload.bearer import Bearer, Standing, is_good
from fairlead.rollout.secrets import hashed

LOCAL_REGION = "local"


class Bearers(Protocol):
    """Who shows a token: the payload service's own source."""

    def find_bearer(self, token_hash: str, machine: str) -> Bearer | None:
        """Return who shows the token of this hash, or None."""


class TokenVerifier:
    """Believes tokens that boots of this control plane are under way with."""

    name = "token"

    def __init__(self, bearers: Bearers) -> None:
        self._bearers = bearers

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """Return the machine whose boot this token is for."""
        try:
            bearer = self._bearers.find_bearer(hashed(proof), machine)
        except UnavailableError:
            raise UnprovenError("cannot be looked up") from None
        if bearer is None or not is_good(bearer, proof, now):
            raise UnprovenError("unknown or ended")
        if not machine:
            raise UnprovenError("nameless")
        if bearer.own is not None and bearer.own.machine != machine:
            raise NotAdmittedError("another machine's")
        if bearer.standing is not Standing.EXPECTED:
            raise UnprovenError("no such boot is under way")
        return Claims(machine=machine, region=LOCAL_REGION, pool=bearer.pair.pool)
