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
    refusal_of_token,
    report_answer,
    served_config,
    token_shown,
)
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


def status_of(authorizations: list[str], found: TokenSecret | None = None) -> int:
    refusal = refusal_of_token(token_shown(authorizations), found or pair(), NOW)
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

    answer = config_answer(pair(served=other), NodeSettings())

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
        (
            json.dumps({"version": "v1", "message_of_the_day": "x" * (4 << 20)}),
            "bytes, an agent reads at most 4194304",
        ),
    ],
)
def test_a_config_that_cannot_be_served_says_why_to_the_owner_and_not_to_the_machine(
    config: str, problem: str
) -> None:
    broken = replace(make_revision(), node_config=config)

    answer = config_answer(pair(served=broken), NodeSettings(labels={"team": "a"}))

    assert answer.status == 500
    assert problem in answer.problem
    assert answer.body == b'{"error":"the node config of this token cannot be served"}\n'


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
    ("body", "machine", "status"),
    [
        (REPORT, "workers-1", 204),
        (REPORT + b" " * (65536 - len(REPORT)), "workers-1", 204),
        (REPORT + b" " * (65537 - len(REPORT)), "workers-1", 413),
        (REPORT, "", 400),
        (b"", "workers-1", 400),
        (b"[]", "workers-1", 400),
        (b'{"run": 1}', "workers-1", 400),
        (b"\xff\xfe", "workers-1", 400),
    ],
)
def test_a_report_is_kept_if_it_is_one_and_somebodys(
    body: bytes, machine: str, status: int
) -> None:
    assert report_answer(body, machine).status == status


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
    refusal = refusal_of_token(token, pair(), NOW)

    assert refusal is not None
    assert refusal.status in (401, 511)
    assert (refusal.status == 401) == (token is None)
    for text in authorizations:
        words = [word for word in text.split() if len(word) > 8]
        assert not any(word.encode("utf-8", "replace") in refusal.body for word in words)


@given(st.text(max_size=300), st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3))
def test_whatever_is_stored_a_fetch_is_answered(config: str, labels: dict[str, str]) -> None:
    answer = config_answer(
        pair(served=replace(make_revision(), node_config=config)), NodeSettings(labels=labels)
    )

    assert answer.status in (200, 500)
    assert bool(answer.problem) == (answer.status == 500)


@given(st.binary(max_size=300), st.text(max_size=20))
def test_whatever_is_sent_as_a_report_is_answered(body: bytes, machine: str) -> None:
    assert report_answer(body, machine_named(machine)).status in (204, 400)
