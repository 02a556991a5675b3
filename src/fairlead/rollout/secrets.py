"""
The pair of secrets of a revision, `token-<pool>-<id>` and `user-data-<pool>-<id>`, and its life.

A pair is created before the template names it and expires only after nothing does. What is
referenced never carries an expiry; its token is rotated for as long as it is referenced, and its
user data is refreshed without a template write, so that a pool that has not rolled for a year
still scales.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from fairlead.inputs.platform_inputs import Stub
from fairlead.revision.revision import Revision
from fairlead.rollout.step import (
    CreateToken,
    DeletePair,
    ExpireToken,
    ReviveToken,
    RotateToken,
    SecretStep,
    ServeRevision,
    WriteUserData,
)

TOKEN_LIFE = timedelta(hours=11)
HALF_LIFE = TOKEN_LIFE / 2

# How long a pair outlives its last reference: long enough for a boot that began just before.
GRACE = timedelta(hours=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSecret:
    """
    The token of one pair, and what it fetches. Written by the controller.

    revision: what the name stands for. served: what machines that boot under it are given, the
    same except while a pool refreshes. problem: why the payload service cannot serve it, or '';
    written by that service. unserved: what the problem with `revision` was, for as long as
    something else is served instead, or ''.
    """

    pool: str
    id: str
    revision: Revision
    served: Revision
    token: str
    issued_at: datetime
    previous: str = ""
    previous_until: datetime | None = None
    expires_at: datetime | None = None
    problem: str = ""
    unserved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserData:
    """What a machine of this pair boots from: the current token, and where to use it."""

    pool: str
    id: str
    token: str
    stub: Stub


class SecretStore(Protocol):
    """Where secrets live. Writes replace; deleting what is not there is no error."""

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        """Return the pool's token secrets. Raises UnavailableError; then nothing is deleted."""

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        """Return the pool's user-data secrets. Raises UnavailableError."""

    def write_token(self, secret: TokenSecret) -> None:
        """Create or replace a token secret."""

    def write_user_data(self, secret: UserData) -> None:
        """Create or replace a user-data secret."""

    def delete_token(self, pool: str, pair: str) -> None:
        """Delete a token secret."""

    def delete_user_data(self, pool: str, pair: str) -> None:
        """Delete a user-data secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """
    What exists, and what is needed.

    needed: every id that a pointer, the template or a machine names, with the revision it stands
    for. served: for some of them, other inputs that new machines get.
    """

    tokens: Mapping[str, TokenSecret]
    user_data: Mapping[str, UserData]
    needed: Mapping[str, Revision]
    served: Mapping[str, Revision]
    stub: Stub


@dataclass(frozen=True, slots=True)
class SecretPlan:
    """Steps before anything names a pair, steps after, and when the next is due."""

    before: tuple[SecretStep, ...]
    after: tuple[SecretStep, ...]
    wake: datetime | None


def plan_secrets(pairs: Pairs, now: datetime) -> SecretPlan:
    """Return the steps after which every needed pair is whole and the others are on their way."""
    before: list[SecretStep] = []
    due: list[datetime] = []
    for pair, revision in sorted(pairs.needed.items()):
        steps = _needed_steps(pairs, pair, revision, now)
        before += steps
        token = pairs.tokens.get(pair)
        is_renewed = token is None or any(isinstance(step, RotateToken) for step in steps)
        due.append((now if token is None or is_renewed else token.issued_at) + HALF_LIFE)
    after: list[SecretStep] = []
    for pair in sorted((pairs.tokens.keys() | pairs.user_data.keys()) - pairs.needed.keys()):
        token = pairs.tokens.get(pair)
        if token is None or (token.expires_at and token.expires_at <= now):
            after.append(DeletePair(pair))
        elif token.expires_at is None:
            after.append(ExpireToken(pair, now + GRACE))
            due.append(now + GRACE)
        else:
            due.append(token.expires_at)
    return SecretPlan(tuple(before), tuple(after), min(due, default=None))


def _needed_steps(pairs: Pairs, pair: str, revision: Revision, now: datetime) -> list[SecretStep]:
    served = pairs.served.get(pair, revision)
    token = pairs.tokens.get(pair)
    if token is None:
        return [CreateToken(id=pair, revision=revision, served=served), WriteUserData(pair)]
    steps: list[SecretStep] = []
    if token.expires_at is not None:
        steps.append(ReviveToken(pair))
    if token.served.leaves != served.leaves:
        steps.append(ServeRevision(id=pair, served=served))
    rotates = token.issued_at + HALF_LIFE <= now
    if rotates:
        steps.append(RotateToken(pair))
    user_data = pairs.user_data.get(pair)
    if (
        rotates
        or user_data is None
        or user_data.token != token.token
        or user_data.stub != pairs.stub
    ):
        steps.append(WriteUserData(pair))
    return steps


def served_anew(secret: TokenSecret, served: Revision) -> TokenSecret:
    """
    Return the secret with another revision served under its name, and no problem known of it.

    That the revision which the name stands for could not be served is remembered until it is
    served again; otherwise two passes would take turns between the two.
    """
    was_pinned = secret.served.leaves == secret.revision.leaves
    why = secret.unserved or (secret.problem if was_pinned else "")
    is_pinned = served.leaves == secret.revision.leaves
    return replace(secret, served=served, problem="", unserved="" if is_pinned else why)


def is_valid(secret: TokenSecret, token: str, now: datetime) -> bool:
    """Say whether a machine that shows this token is to be served."""
    if secret.expires_at is not None and secret.expires_at <= now:
        return False
    if token == secret.token:
        return now < secret.issued_at + TOKEN_LIFE
    until = secret.previous_until
    return bool(secret.previous) and token == secret.previous and until is not None and now < until


def hashed(token: str) -> str:
    """Return what the payload service keeps of a token."""
    return sha256(b"fairlead/token\n" + token.encode()).hexdigest()


def token_secret_name(pool: str, pair: str) -> str:
    """Return the name of a token secret."""
    return f"token-{pool}-{pair}"


def user_data_secret_name(pool: str, pair: str) -> str:
    """Return the name of a user-data secret."""
    return f"user-data-{pool}-{pair}"
