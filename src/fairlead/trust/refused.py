"""Why a proof did not hold, as one word that a fleet can be counted by."""

from __future__ import annotations

from fairlead.errors import TrustError

MALFORMED = "malformed"
TOO_LARGE = "too-large"
WRONG_KEY = "wrong-key"
BELOW_THRESHOLD = "below-threshold"
ROLLBACK = "rollback"
EXPIRED = "expired"
MIXED = "mix-and-match"


class RefusedError(TrustError):
    """Metadata that must not be used. `cause` is one of the words above."""

    def __init__(self, cause: str, problem: str) -> None:
        self.cause = cause
        super().__init__(f"{cause}: {problem}")
