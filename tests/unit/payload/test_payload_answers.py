"""Who is given a node config, and what everybody else is told. Each row is a promise."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.payload.answer import (
    config_answer,
    machine_named,
    refusal_of,
    refusal_of_fetch,
    refusal_of_machine,
    refusal_of_token,
    report_answer,
    served_config,
    token_shown,
)
from fairlead.payload.bearer import Bearer, Standing, issued
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.secrets import TokenSecret
from pool_documents import make_revision

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
TOKEN = "dGhlIHRva2VuIG9mIHRoaXMgcGFpcg=="
PREVIOUS = "dGhlIHRva2VuIGJlZm9yZSB0aGF0IG9uZQ=="


def pair(**changed: Any) -> TokenSecret:
    revision = make_revision()
    secret = TokenSecret(
        pool="workers",
        id=revision.id,
        revision=revision,
        served=revision,
        token=TOKEN,
        issued_at=NOW,
    )
    return replace(secret, **changed)


def bearer(**changed: Any) -> Bearer:
    """A machine that is expected, with the token of its pair."""
    return replace(Bearer(pair=pair(), standing=Standing.EXPECTED), **changed)


def status_of(authorizations: list[str], found: TokenSecret | None = None) -> int:
    refusal = refusal_of_token(token_shown(authorizations), Bearer(pair=found or pair()), NOW)
    return refusal.status if refusal else 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/node-config", None),
        ("POST", "/v1/boot-report", None),
        ("GET", "/", 404),
        ("GET", "", 404),
        ("GET", "/v1/node-config/", 404),
        ("GET", "/v1/node-config/extra", 404),
        ("GET", "//v1/node-config", 404),
        ("GET", "/V1/node-config", 404),
        ("DELETE", "/v2/anything", 404),
        ("HEAD", "/v1/node-config", 405),
        ("POST", "/v1/node-config", 405),
        ("OPTIONS", "/v1/node-config", 405),
        ("GET", "/v1/boot-report", 405),
        ("BREW", "/v1/boot-report", 405),
    ],
)
def test_only_two_paths_exist_and_each_takes_one_method(
    method: str, path: str, status: int | None
) -> None:
    refusal = refusal_of(method, path)

    assert (refusal.status if refusal else None) == status


def test_a_wrong_method_is_told_the_right_one() -> None:
    refusal = refusal_of("HEAD", "/v1/node-config")

    assert refusal is not None
    assert refusal.headers == {"Allow": "GET"}


@pytest.mark.parametrize(
    "authorizations",
    [
        [],
        [""],
        ["Bearer"],
        ["Bearer "],
        ["Bearer    "],
        [TOKEN],
        [f"Basic {TOKEN}"],
        [f"Token {TOKEN}"],
        [f"BearerX {TOKEN}"],
        [f"Bearer{TOKEN}"],
        [f"Bearer\t{TOKEN}"],
        [f"Bearer {TOKEN} {TOKEN}"],
        [f"Bearer {TOKEN},"],
        [f"Bearer {TOKEN[:-1]}"],
        [f"Bearer {TOKEN}="],
        [f"Bearer {TOKEN}AAAA"],
        ["Bearer ===="],
        ["Bearer not_base64-url"],
        ["Bearer t\u00f6ken"],
        ["Bearer \ud800"],
        [f"Bearer {TOKEN}", f"Bearer {TOKEN}"],
        [f"Bearer {TOKEN}", "Basic eDp5"],
    ],
)
def test_a_bearer_that_is_missing_malformed_or_not_base64_is_refused_for_good(
    authorizations: list[str],
) -> None:
    refusal = refusal_of_token(token_shown(authorizations), None, NOW)

    assert refusal is not None
    assert refusal.status == 401
    assert refusal.headers == {"WWW-Authenticate": "Bearer"}


@pytest.mark.parametrize(
    "text", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER   {TOKEN}", f" Bearer {TOKEN} \t"]
)
def test_the_scheme_is_read_as_http_says(text: str) -> None:
    assert token_shown([text]) == TOKEN


@pytest.mark.parametrize(
    ("shown", "changed", "status"),
    [
        (TOKEN, {}, 200),
        # Eleven hours after it was issued, to the second.
        (TOKEN, {"issued_at": NOW - timedelta(hours=10, minutes=59, seconds=59)}, 200),
        (TOKEN, {"issued_at": NOW - timedelta(hours=11)}, 511),
        # The previous one, until its moment.
        (PREVIOUS, {}, 511),
        (PREVIOUS, {"previous": PREVIOUS}, 511),
        (PREVIOUS, {"previous": PREVIOUS, "previous_until": NOW + timedelta(seconds=1)}, 200),
        (PREVIOUS, {"previous": PREVIOUS, "previous_until": NOW}, 511),
        # A pair that nothing names any more, until its moment.
        (TOKEN, {"expires_at": NOW + timedelta(seconds=1)}, 200),
        (TOKEN, {"expires_at": NOW}, 511),
        (
            PREVIOUS,
            {
                "previous": PREVIOUS,
                "previous_until": NOW + timedelta(hours=5),
                "expires_at": NOW,
            },
            511,
        ),
        # What a defective lookup might find.
        ("c29tZXRoaW5nIGVsc2U=", {}, 511),
    ],
)
def test_a_token_is_good_for_as_long_as_its_pair_says(
    shown: str, changed: dict[str, Any], status: int
) -> None:
    assert status_of([f"Bearer {shown}"], pair(**changed)) == status


def test_a_token_that_nobody_knows_is_asked_to_come_again() -> None:
    refusal = refusal_of_token(TOKEN, None, NOW)

    assert refusal is not None
    assert refusal.status == 511
    assert refusal.body == b'{"error":"this token is not known, not yet or no longer"}\n'


def test_a_good_token_is_answered_with_what_is_served_not_with_what_the_name_stands_for() -> None:
    other = replace(make_revision(), node_config='{"version": "v1", "kubernetes_version": "9.9.9"}')

    answer = config_answer(Bearer(pair=pair(served=other)))

    assert answer.status == 200
    assert json.loads(answer.body) == {"version": "v1", "kubernetes_version": "9.9.9"}
    assert answer.problem == ""


def test_labels_and_taints_of_the_pool_are_where_the_contract_has_them() -> None:
    settings = NodeSettings(
        labels={"team": "a", "tier": "b"},
        taints=(
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"key": "spot", "effect": "NoExecute"},
        ),
    )
    config = '{"version": "v1", "kubelet_config": {"kubelet_flags": {"--v": "2"}}}'

    text = served_config(config, settings)

    assert json.loads(text) == {
        "version": "v1",
        "kubelet_config": {
            "kubelet_flags": {
                "--v": "2",
                "--register-with-taints": "gpu=yes:NoSchedule,spot:NoExecute",
            },
            "kubelet_node_labels": {"team": "a", "tier": "b"},
        },
    }


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("", "not JSON: the text ends at character 0"),
        ("[]", "the node config is no JSON object"),
        ("{", "not JSON: "),
        ('{"version": "v1"} x', "unexpected text after the JSON value at character 17"),
        ('{"kubernetes_version": 7}', "kubernetes_version: found a number, expected text"),
        ('{"kubelet_config": 7}', "kubelet_config: found no mapping"),
        ('{"version": "\ud800"}', "the node config holds text that is not Unicode"),
    ],
)
def test_a_config_that_cannot_be_served_says_why_to_the_owner_and_not_to_the_machine(
    config: str, problem: str
) -> None:
    broken = replace(make_revision(), node_config=config)

    settings = NodeSettings(labels={"team": "a"})
    answer = config_answer(Bearer(pair=pair(served=broken), settings=settings))

    assert answer.status == 500
    assert problem in answer.problem
    assert answer.body == b'{"error":"the node config of this token cannot be served"}\n'


def config_of(count: int) -> str:
    """A node config that has so many bytes when it is served."""
    empty = '{\n  "version": "v1",\n  "message_of_the_day": ""\n}\n'
    return empty.replace('""', '"' + "x" * (count - len(empty)) + '"')


def test_as_many_bytes_as_an_agent_reads_are_served() -> None:
    whole = replace(make_revision(), node_config=config_of(4_194_304))

    answer = config_answer(Bearer(pair=pair(served=whole)))

    assert (answer.status, len(answer.body)) == (200, 4_194_304)


def test_a_machine_is_told_that_its_config_is_one_byte_too_large_and_not_what_is_in_it() -> None:
    broken = replace(make_revision(), node_config=config_of(4_194_305))

    answer = config_answer(Bearer(pair=pair(served=broken)))

    says = "the node config has 4194305 bytes, at most 4194304 can be served"
    assert (answer.status, answer.problem) == (500, says)
    told = json.loads(answer.body)["error"]
    assert told == f"the node config of this token cannot be served: {says}"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("workers-a1b2", "workers-a1b2"),
        ("Node.example.test", "Node.example.test"),
        ("x" * 253, "x" * 253),
        ("", ""),
        ("x" * 254, ""),
        ("a b", ""),
        ("../etc", ""),
        ("a\u0660", ""),
        ("a_b", ""),
    ],
)
def test_a_machine_is_called_what_it_calls_itself_if_that_can_be_a_name(
    header: str, name: str
) -> None:
    assert machine_named(header) == name


REPORT = b'{"run": "1", "agent": "a", "layout": "aks", "started": "2026-07-01T12:00:00Z"}'


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (REPORT, 204),
        (REPORT + b" " * (65536 - len(REPORT)), 204),
        (REPORT + b" " * (65537 - len(REPORT)), 413),
        (b"", 400),
        (b"[]", 400),
        (b'{"run": 1}', 400),
        (b"\xff\xfe", 400),
    ],
)
def test_a_report_is_kept_if_it_is_one(body: bytes, status: int) -> None:
    assert report_answer(body, bearer()).status == status


# Of hashlib.sha256(REPORT): what an edge keeps, so it stays what it is.
REPORT_DIGEST = "4f6a793adc95f14be846b645dfa50ce98be8e40f0983daf5e72a6b2aaf63b545"


@pytest.mark.parametrize(
    ("body", "said", "status"),
    [
        (REPORT, REPORT_DIGEST, 204),
        (REPORT + b" ", REPORT_DIGEST, 410),
        (b"", REPORT_DIGEST, 410),
        (REPORT, "", 410),
        (REPORT + b" " * 65536, REPORT_DIGEST, 413),
    ],
)
def test_after_its_verdict_a_machine_may_say_the_same_again_and_nothing_else(
    body: bytes, said: str, status: int
) -> None:
    spent = bearer(standing=Standing.OVER, said=said)

    assert report_answer(body, spent).status == status


def test_a_machine_that_has_had_its_verdict_is_given_nothing() -> None:
    assert refusal_of_fetch(bearer(standing=Standing.EXPECTED)) is None

    refusal = refusal_of_fetch(bearer(standing=Standing.OVER))

    assert refusal is not None
    assert refusal.status == 410


@pytest.mark.parametrize(
    ("owner", "standing", "name", "status"),
    [
        ("workers-1", Standing.EXPECTED, "workers-1", None),
        ("workers-1", Standing.OVER, "workers-1", None),
        ("workers-1", Standing.EXPECTED, "workers-2", 403),
        ("workers-1", Standing.EXPECTED, "WORKERS-1", 403),
        ("workers-1", Standing.EXPECTED, "", 400),
        ("", Standing.EXPECTED, "workers-1", None),
        ("", Standing.OVER, "workers-1", None),
        ("", Standing.UNKNOWN, "workers-1", 511),
        ("", Standing.UNKNOWN, "", 400),
    ],
)
def test_a_token_is_for_the_machine_that_it_was_made_for_or_one_that_is_expected(
    owner: str, standing: Standing, name: str, status: int | None
) -> None:
    own = issued(owner, "p1", TOKEN, NOW) if owner else None

    refusal = refusal_of_machine(bearer(own=own, standing=standing), name)

    assert (refusal.status if refusal else None) == status


@pytest.mark.parametrize(
    ("hours", "changed", "status"),
    [
        (0.0, {}, 200),
        (10.9, {}, 200),
        (11.0, {}, 511),
        # The pair's token may have been rotated and may have ended; the machine's is its own.
        (5.6, {"token": PREVIOUS}, 200),
        (10.9, {"issued_at": NOW - timedelta(days=3)}, 200),
        # But a pair that came to its end serves nobody.
        (1.0, {"expires_at": NOW + timedelta(hours=1)}, 511),
    ],
)
def test_a_machines_own_token_has_an_end_of_its_own(
    hours: float, changed: dict[str, Any], status: int
) -> None:
    found = bearer(pair=pair(**changed), own=issued("workers-1", "p1", TOKEN, NOW))

    refusal = refusal_of_token(TOKEN, found, NOW + timedelta(hours=hours))

    assert (refusal.status if refusal else 200) == status


def test_what_is_kept_of_a_machines_token_does_not_hold_it() -> None:
    kept = issued("workers-1", "p1", TOKEN, NOW)

    assert TOKEN not in repr(kept)
    assert kept.expires_at == NOW + timedelta(hours=11)


HEADERS = st.one_of(
    st.text(max_size=200),
    st.text(max_size=80).map(lambda text: f"Bearer {text}"),
    st.binary(max_size=60).map(lambda raw: f"Bearer {base64.b64encode(raw).decode()}"),
    st.sampled_from([TOKEN[:at] for at in range(len(TOKEN))]).map(lambda cut: f"Bearer {cut}"),
    st.integers(0, len(TOKEN) - 1).map(
        lambda at: f"Bearer {TOKEN[:at]}{chr(ord(TOKEN[at]) ^ 1)}{TOKEN[at + 1 :]}"
    ),
)


@given(st.lists(HEADERS, max_size=3))
def test_whatever_is_sent_nobody_is_served_without_the_token(authorizations: list[str]) -> None:
    token = token_shown(authorizations)
    refusal = refusal_of_token(token, bearer(), NOW)

    assert refusal is not None
    assert refusal.status in (401, 511)
    assert (refusal.status == 401) == (token is None)
    for text in authorizations:
        words = [word for word in text.split() if len(word) > 8]
        assert not any(word.encode("utf-8", "replace") in refusal.body for word in words)


@given(st.text(max_size=300), st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3))
def test_whatever_is_stored_a_fetch_is_answered(config: str, labels: dict[str, str]) -> None:
    served = replace(make_revision(), node_config=config)
    settings = NodeSettings(labels=labels)
    answer = config_answer(Bearer(pair=pair(served=served), settings=settings))

    assert answer.status in (200, 500)
    assert bool(answer.problem) == (answer.status == 500)


@given(st.binary(max_size=300), st.sampled_from(Standing), st.text(max_size=20))
def test_whatever_is_sent_as_a_report_is_answered(
    body: bytes, standing: Standing, name: str
) -> None:
    found = bearer(standing=standing)
    refusal = refusal_of_machine(found, machine_named(name))

    assert (refusal or report_answer(body, found)).status in (204, 400, 410, 511)
