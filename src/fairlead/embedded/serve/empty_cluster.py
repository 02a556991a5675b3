"""
The cluster of an embedded control plane, as its machines join it: there is none.

No API server runs here, so nodes are only written the files that they would join with. The
bootstrap token in them has the form of a real one, is drawn anew for every answer, and is kept
nowhere: nobody takes it, so there is nothing to let expire or to take back.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime

from fairlead.payload.join import Join

# A name that no resolver answers (RFC 6761).
NO_API_SERVER = "cluster.invalid:6443"


class EmptyCluster:
    """Where machines would join. find_ca: the certificate authorities that they are told, PEM."""

    def __init__(self, find_ca: Callable[[], str]) -> None:
        self._find_ca = find_ca

    def admit(self, _pool: str, _machine: str, _until: datetime) -> Join:
        """Return how a machine would join, with a bootstrap token that opens nothing."""
        return Join(server=NO_API_SERVER, ca=self._find_ca(), token=draw_bootstrap_token())

    def dismiss(self, _pool: str, _machine: str) -> None:
        """Do nothing: no token of it is known to anybody."""


def draw_bootstrap_token() -> str:
    """Return a token as Kubernetes defines bootstrap tokens: ID.SECRET."""
    return f"{secrets.token_hex(3)}.{secrets.token_hex(8)}"
