"""The life of a pair of secrets."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.secrets import (
    Need,
    SecretPlan,
    TokenSecret,
    UserData,
    hashed,
    is_valid,
    plan_secrets,
    rotated,
)
from fairlead.rollout.step import (
    CreateToken,
    DeletePair,
    ExpireToken,
    ReviveToken,
    RotateToken,
    ServeRevision,
    WriteUserData,
)
from pool_documents import make_revision, pool_document

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
REVISION = make_revision()
OTHER = make_revision(pool_document(imageBase="other"))
STUB = Stub(endpoint="https://payload.example.test/")
FIRST, EARLIER = "t1", "t0"
TOKEN = TokenSecret(
    pool="workers", id="p1", revision=REVISION, served=REVISION, token=FIRST, issued_at=NOW
)
USER_DATA = UserData(pool="workers", id="p1", token=FIRST, stub=STUB)


def planned(now: datetime = NOW, **changed: Any) -> SecretPlan:
    fields: dict[str, Any] = {
        "tokens": {"p1": TOKEN},
        "user_data": {"p1": USER_DATA},
        "needed": {"p1": Need(REVISION, REVISION)},
        "stub": STUB,
    }
    return plan_secrets(**(fields | changed), now=now)


def test_a_whole_pair_needs_nothing_until_half_its_life() -> None:
    plan = planned()

    assert (plan.before, plan.after) == ((), ())
    assert plan.wake == NOW + timedelta(hours=5, minutes=30)


def test_a_missing_pair_is_created_token_first() -> None:
    plan = planned(tokens={}, user_data={})

    assert plan.before == (
        CreateToken(id="p1", revision=REVISION, served=REVISION),
        WriteUserData("p1"),
    )


@pytest.mark.parametrize(
    ("hours", "steps"),
    [(5.49, ()), (5.5, (RotateToken("p1"), WriteUserData("p1")))],
)
def test_a_token_is_rotated_at_half_its_life(hours: float, steps: tuple[object, ...]) -> None:
    assert planned(NOW + timedelta(hours=hours)).before == steps


def test_user_data_that_lags_behind_its_token_is_written() -> None:
    stale = {"p1": replace(USER_DATA, token=EARLIER)}

    assert planned(user_data=stale).before == (WriteUserData("p1"),)


def test_another_endpoint_refreshes_user_data() -> None:
    plan = planned(stub=Stub(endpoint="https://other.example.test/"))

    assert plan.before == (WriteUserData("p1"),)


def test_what_nothing_names_expires_in_two_hours_and_the_moment_is_scheduled() -> None:
    plan = planned(needed={})

    assert plan.after == (ExpireToken("p1", NOW + timedelta(hours=2)),)
    assert plan.wake == NOW + timedelta(hours=2)


def test_an_expiry_is_set_once() -> None:
    expiring = {"p1": replace(TOKEN, expires_at=NOW + timedelta(hours=1))}

    plan = planned(tokens=expiring, needed={})

    assert plan.after == ()
    assert plan.wake == NOW + timedelta(hours=1)


def test_an_expired_pair_is_deleted() -> None:
    expired = {"p1": replace(TOKEN, expires_at=NOW)}

    assert planned(tokens=expired, needed={}).after == (DeletePair("p1"),)


def test_user_data_without_its_token_is_deleted_when_nothing_names_it() -> None:
    assert planned(tokens={}, needed={}).after == (DeletePair("p1"),)


def test_a_pair_that_is_named_again_loses_its_expiry() -> None:
    expiring = {"p1": replace(TOKEN, expires_at=NOW + timedelta(hours=1))}

    assert planned(tokens=expiring).before == (ReviveToken("p1"),)


def test_a_pair_that_is_named_again_after_its_end_gets_another_token_first() -> None:
    expired = {"p1": replace(TOKEN, expires_at=NOW)}

    assert planned(tokens=expired).before == (
        RotateToken("p1"),
        ReviveToken("p1"),
        WriteUserData("p1"),
    )


@pytest.mark.parametrize(
    ("hours", "expires", "previous", "until"),
    [
        (5.5, None, "t1", 11),
        (8.0, None, "t1", 11),
        (10.9, None, "t1", 11),
        (11.0, None, "", None),
        (30.0, None, "", None),
        (2.0, None, "t1", 7.5),
        (2.0, 3.0, "t1", 3),
        (2.0, 2.0, "", None),
    ],
)
def test_a_token_that_was_rotated_out_ends_no_later_than_it_would_have(
    hours: float, expires: float | None, previous: str, until: float | None
) -> None:
    secret = replace(TOKEN, expires_at=NOW + timedelta(hours=expires) if expires else None)

    found = rotated(secret, "t2", NOW + timedelta(hours=hours))

    assert (found.token, found.issued_at) == ("t2", NOW + timedelta(hours=hours))
    assert found.previous == previous
    assert found.previous_until == (None if until is None else NOW + timedelta(hours=until))


def test_other_inputs_can_be_served_under_the_same_name_and_taken_back() -> None:
    refreshed = {"p1": replace(TOKEN, served=OTHER)}

    assert planned(needed={"p1": Need(REVISION, OTHER)}).before == (
        ServeRevision(id="p1", served=OTHER),
    )
    assert planned(tokens=refreshed).before == (ServeRevision(id="p1", served=REVISION),)


def test_a_token_and_the_one_before_are_valid_for_their_time() -> None:
    rotated = replace(TOKEN, previous="t0", previous_until=NOW + timedelta(hours=5.5))

    assert is_valid(rotated, "t1", NOW + timedelta(hours=10.9))
    assert not is_valid(rotated, "t1", NOW + timedelta(hours=11))
    assert is_valid(rotated, "t0", NOW + timedelta(hours=5.4))
    assert not is_valid(rotated, "t0", NOW + timedelta(hours=5.5))
    assert not is_valid(rotated, "", NOW)
    assert not is_valid(replace(rotated, expires_at=NOW), "t1", NOW)


def test_hashes_are_pinned() -> None:
    assert hashed("t1").startswith("68636873266f7db2")
    assert len(hashed("t1")) == 64
