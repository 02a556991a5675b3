"""
The pair of secrets of a revision, `token-<pool>-<id>` and `user-data-<pool>-<id>`, and its life.

A pair is created before the template names it and expires only after nothing does. What is
referenced never carries an expiry; its token is rotated for as long as it is referenced, and its
user data is refreshed without a template write, so that a pool that has not rolled for a year
still scales. A token that has ended stays ended, whatever becomes of its pair.
"""

from collections.abc import Container, Iterable, Mapping
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
    """Where secrets live. Deleting what is not there is no error."""

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        """Return the pool's token secrets. Raises UnavailableError; then nothing is deleted."""

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        """Return the pool's user-data secrets. Raises UnavailableError."""

    def create_token(self, secret: TokenSecret) -> None:
        """
        Keep the first token of a pair.

        Raises ConflictError if there is one: machines may have been given it, and of two that act
        at once the second must not take it back.
        """

    def write_token(self, secret: TokenSecret) -> None:
        """Replace a token secret. Raises ConflictError if somebody else changed it meanwhile."""

    def write_user_data(self, secret: UserData) -> None:
        """Create or replace a user-data secret."""

    def delete_token(self, pool: str, pair: str) -> None:
        """Delete a token secret."""

    def delete_user_data(self, pool: str, pair: str) -> None:
        """Delete a user-data secret."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a pair that something names stands for, and what machines that use it are served."""

    stands_for: Revision
    served: Revision


@dataclass(frozen=True, slots=True)
class SecretPlan:
    """Steps before anything names a pair, steps after, and when the next is due."""

    before: tuple[SecretStep, ...]
    after: tuple[SecretStep, ...]
    wake: datetime | None


def plan_secrets(
    tokens: Mapping[str, TokenSecret],
    user_data: Mapping[str, UserData],
    needed: Mapping[str, Need],
    stub: Stub,
    now: datetime,
) -> SecretPlan:
    """Return the steps after which every needed pair is whole and the others are on their way."""
    before: list[SecretStep] = []
    due: list[datetime] = []
    for pair, need in sorted(needed.items()):
        token = tokens.get(pair)
        if token is None:
            created = CreateToken(id=pair, revision=need.stands_for, served=need.served)
            before += [created, WriteUserData(pair)]
            due.append(now + HALF_LIFE)
            continue
        # One whose pair has expired is not given back: whoever kept it must get nothing for it.
        rotates = token.issued_at + HALF_LIFE <= now or has_expired(token, now)
        before += _upkeep_steps(token, need, rotates=rotates)
        if rotates or not _is_current(user_data.get(pair), token, stub):
            before.append(WriteUserData(pair))
        due.append((now if rotates else token.issued_at) + HALF_LIFE)
    after, ends = _farewell_steps(tokens, user_data.keys(), needed, now)
    return SecretPlan(tuple(before), after, min([*due, *ends], default=None))


def _upkeep_steps(token: TokenSecret, need: Need, *, rotates: bool) -> list[SecretStep]:
    # Rotated first: cut off after it, the next pass finds an expiry and no token to bring back.
    steps: list[SecretStep] = [RotateToken(token.id)] if rotates else []
    if token.expires_at is not None:
        steps.append(ReviveToken(token.id))
    if token.served.leaves != need.served.leaves:
        steps.append(ServeRevision(id=token.id, served=need.served))
    return steps


def has_expired(token: TokenSecret, now: datetime) -> bool:
    """Say whether its pair has come to its end, and every token of it with it."""
    return token.expires_at is not None and token.expires_at <= now


def _is_current(user_data: UserData | None, token: TokenSecret, stub: Stub) -> bool:
    return user_data is not None and (user_data.token, user_data.stub) == (token.token, stub)


def _farewell_steps(
    tokens: Mapping[str, TokenSecret],
    written: Iterable[str],
    needed: Container[str],
    now: datetime,
) -> tuple[tuple[SecretStep, ...], list[datetime]]:
    """Return what becomes of pairs that nothing names, and when each of them ends."""
    steps: list[SecretStep] = []
    ends: list[datetime] = []
    for pair in sorted({*tokens, *written}):
        if pair in needed:
            continue
        token = tokens.get(pair)
        if token is None or has_expired(token, now):
            steps.append(DeletePair(pair))
        elif token.expires_at is None:
            steps.append(ExpireToken(pair, now + GRACE))
            ends.append(now + GRACE)
        else:
            ends.append(token.expires_at)
    return tuple(steps), ends


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


def rotated(secret: TokenSecret, token: str, now: datetime) -> TokenSecret:
    """
    Return the secret with its next token; the present one stays valid for half a life.

    But never beyond its own end, or that of its pair: a rotation that comes late, since nothing
    made passes for a while, brings nothing back.
    """
    ends = [now + HALF_LIFE, secret.issued_at + TOKEN_LIFE]
    if secret.expires_at is not None:
        ends.append(secret.expires_at)
    until = min(ends)
    return replace(
        secret,
        token=token,
        issued_at=now,
        previous=secret.token if now < until else "",
        previous_until=until if now < until else None,
    )


def is_valid(secret: TokenSecret, token: str, now: datetime) -> bool:
    """Say whether a machine that shows this token is to be served."""
    if has_expired(secret, now):
        return False
    if token == secret.token:
        return now < secret.issued_at + TOKEN_LIFE
    until = secret.previous_until
    return bool(secret.previous) and token == secret.previous and until is not None and now < until


def hashed(token: str) -> str:
    """Return what the payload service keeps of a token."""
    return sha256(b"fairlead/token\n" + token.encode()).hexdigest()
