"""
Steps to effects, through the seams. Each step is one write and safe to repeat.

Tokens and machine names are drawn here, from what the caller passes in.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from fairlead.errors import ConflictError
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.machines import Machines
from fairlead.rollout.secrets import (
    SecretStore,
    TokenSecret,
    UserData,
    rotated,
    served_anew,
)
from fairlead.rollout.step import (
    ApplySettings,
    ApplyTemplate,
    ChangeMachine,
    CreateMachine,
    CreateToken,
    DeletePair,
    ExpireToken,
    MarkMachine,
    PointTemplate,
    RemoveMachine,
    ReviveToken,
    RotateToken,
    SecretStep,
    ServeRevision,
    Step,
    WriteUserData,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """Everything that steps are carried out with, for one pool and one moment."""

    pool: str
    machines: Machines
    secrets: SecretStore
    stub: Stub
    now: datetime
    draw_token: Callable[[], str]
    draw_name: Callable[[str], str]
    # What this pass wrote, by pair: a store that answers from a copy may not know it yet.
    written: dict[str, TokenSecret] = field(default_factory=dict)


def carry_out(steps: Iterable[Step], hands: Hands) -> tuple[str, ...]:
    """
    Take the steps in order; return the names of the machines that were made.

    Raises UnavailableError or ConflictError; the rest is not taken.
    """
    made: list[str] = []
    for step in steps:
        match step:
            case PointTemplate():
                hands.machines.point_template(hands.pool, step.template)
            case ApplyTemplate():
                hands.machines.apply_template(hands.pool, step.template)
            case CreateMachine():
                name = hands.draw_name(hands.pool)
                hands.machines.create_machine(hands.pool, name, step.revision)
                made.append(name)
            case RemoveMachine() | MarkMachine() | ChangeMachine() | ApplySettings():
                _carry_out_at(hands.machines, step)
            case _:
                _carry_out_secret(step, hands)
    return tuple(made)


def _carry_out_at(
    machines: Machines, step: RemoveMachine | MarkMachine | ChangeMachine | ApplySettings
) -> None:
    match step:
        case RemoveMachine():
            machines.remove_machine(step.machine, step.reason, step.asked_by)
        case MarkMachine():
            machines.mark_machine(step.machine, step.reason, step.asked_by)
        case ChangeMachine():
            machines.change_machine(step.machine, step.revision)
        case ApplySettings():
            machines.apply_settings(step.machine, step.settings)
        case _:
            assert_never(step)


def _carry_out_secret(step: SecretStep, hands: Hands) -> None:
    match step:
        case CreateToken():
            secret = _first_token(step, hands)
            hands.secrets.create_token(secret)
            hands.written[step.id] = secret
        case WriteUserData():
            token = _token(hands, step.id).token
            hands.secrets.write_user_data(
                UserData(pool=hands.pool, id=step.id, token=token, stub=hands.stub)
            )
        case DeletePair():
            # The token first: whoever revived the pair meanwhile wrote that, and is noticed by it.
            hands.secrets.delete_token(hands.pool, step.id)
            hands.secrets.delete_user_data(hands.pool, step.id)
        case RotateToken() | ReviveToken() | ExpireToken() | ServeRevision():
            changed = _changed(_token(hands, step.id), step, hands)
            hands.secrets.write_token(changed)
            hands.written[step.id] = changed
        case _:
            assert_never(step)


def _first_token(step: CreateToken, hands: Hands) -> TokenSecret:
    return TokenSecret(
        pool=hands.pool,
        id=step.id,
        revision=step.revision,
        served=step.served,
        token=hands.draw_token(),
        issued_at=hands.now,
    )


def _changed(
    secret: TokenSecret, step: RotateToken | ReviveToken | ExpireToken | ServeRevision, hands: Hands
) -> TokenSecret:
    match step:
        case RotateToken():
            return rotated(secret, hands.draw_token(), hands.now)
        case ReviveToken():
            return replace(secret, expires_at=None)
        case ExpireToken():
            return replace(secret, expires_at=step.at)
        case ServeRevision():
            return served_anew(secret, step.served)
        case _:
            assert_never(step)


def _token(hands: Hands, pair: str) -> TokenSecret:
    if pair in hands.written:
        return hands.written[pair]
    for secret in hands.secrets.list_tokens(hands.pool):
        if secret.id == pair:
            return secret
    raise ConflictError(f"token secret of {hands.pool} {pair} went away during the pass")
