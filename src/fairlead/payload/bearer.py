"""
Who shows a token, as an edge knows it, and whether the token is good. Pure.

A token is a machine's own: an edge that makes machines by name issues one whenever it gives a
machine power. Or it is that of a pair: one Secret for many machines, at an edge that knows no
names in advance. Either is good for a machine that boots from its pair, until that machine has
said how its boot ended.
"""

import enum
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.secrets import TOKEN_LIFE, TokenSecret, has_expired, hashed, is_valid


class Standing(enum.Enum):
    """How a machine stands to the token that it shows."""

    UNKNOWN = "unknown"  # nobody of this name boots from this pair: not yet, or never
    EXPECTED = "expected"  # it boots or changes, and has not said how that ended
    OVER = "over"  # it has said so, or nobody waits for it any more


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineToken:
    """
    The token of one machine for one boot, as an edge keeps it: the hash, never the token.

    pair: what it boots. said: the digest of the report that it died with, or ''.
    """

    machine: str
    pair: str
    token_hash: str
    issued_at: datetime
    expires_at: datetime
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """
    Whoever shows a token, found by the token's hash and the name that it gives itself.

    own: the token, if it is a machine's own. said: the digest of the report that ended this
    machine's boot, or ''. settings: labels and taints that it boots with.
    """

    pair: TokenSecret
    own: MachineToken | None = None
    standing: Standing = Standing.UNKNOWN
    said: str = ""
    settings: NodeSettings = field(default_factory=NodeSettings)


def issued(machine: str, pair: str, token: str, now: datetime) -> MachineToken:
    """
    Return what is kept of a machine's next token.

    It lives as long as a pair's does, which covers any boot; an edge that still waits for the
    machine then gives it power, and another token.
    """
    return MachineToken(
        machine=machine,
        pair=pair,
        token_hash=hashed(token),
        issued_at=now,
        expires_at=now + TOKEN_LIFE,
    )


def is_good(bearer: Bearer, token: str, now: datetime) -> bool:
    """Say whether the token has not ended, whoever shows it."""
    if bearer.own is None:
        return is_valid(bearer.pair, token, now)
    return now < bearer.own.expires_at and not has_expired(bearer.pair, now)


def report_digest(report: bytes) -> str:
    """Return what is kept of a report to know it again."""
    return sha256(report).hexdigest()
