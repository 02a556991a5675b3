"""How large what machines are served is: known to a byte, of secrets by their size alone."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.https_fetch import LARGEST_BODY
from fairlead.inputs.bounds import LARGEST_SERVED
from fairlead.payload.answer import served_config
from fairlead.payload.join import Join
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.served.config import at_most, served_bytes, size_problem, why_too_large
from fairlead.rollout.served.pool_secrets import Added, PoolSecrets, measured
from pool_documents import make_revision, platform_document, pool_document

NOTHING = NodeSettings()
PLAIN = make_revision(pool_document(trustBundle={"name": "company-ca"}))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
taints = st.lists(st.fixed_dictionaries({"key": texts, "value": texts, "effect": texts}))
certificates = st.lists(st.binary(min_size=1, max_size=90).map(base64.b64encode), min_size=1)


def pem(bodies: list[bytes]) -> bytes:
    begin, end = b"-----BEGIN CERTIFICATE-----\n", b"\n-----END CERTIFICATE-----\n"
    return b"# ours\n".join(begin + body + end for body in bodies)


def added_by(secrets: PoolSecrets) -> Added:
    counts = []
    for field, content in (
        ("pullSecret", secrets.pull_secret),
        ("trustBundle", secrets.trust_bundle),
    ):
        counts.append(0 if content is None else measured(field, content)[0])
    return Added(pull_secret=counts[0], trust_bundle=counts[1])


@given(
    st.dictionaries(texts, texts, max_size=4),
    taints,
    st.none() | st.dictionaries(texts, values, max_size=3),
    st.none() | certificates,
    st.sampled_from([False, True]),
)
def test_a_size_is_that_of_what_is_served_whatever_is_in_it(
    labels: dict[str, str],
    tainted: list[dict[str, str]],
    logins: dict[str, Any] | None,
    bundle: list[bytes] | None,
    has_some: bool,  # noqa: FBT001 - drawn
) -> None:
    config = {"version": "v1", "fairlead": {"pullSecret.name": "a", "trustBundle.name": "b"}}
    if has_some:
        config |= {"custom_ca_certs": ["QQ=="], "kubelet_config": {"kubelet_flags": {"--v": "2"}}}
    text = json.dumps(config, indent=2) + "\n"
    settings = NodeSettings(labels=labels, taints=tuple(tainted))
    secrets = PoolSecrets(
        pull_secret=None if logins is None else json.dumps({**logins, "auths": {}}).encode(),
        trust_bundle=None if bundle is None else pem(bundle),
    )
    added = added_by(secrets)

    served = len(served_config(text, settings, None, secrets))

    assert served_bytes(text, settings, added) == served
    assert at_most(text, settings, added) >= served


def test_a_login_takes_what_it_takes_once_it_is_indented() -> None:
    secret = b'{"auths":{"r":{"auth":"eA=="}},"l":[1,1,1,1]}'

    assert len(secret) == 45
    assert measured("pullSecret", secret) == (147, "")
    text = served_config(PLAIN.node_config, NOTHING, None, PoolSecrets(pull_secret=secret))
    without, taken = '    "pullSecret.name": "registry-login",\n', '    "pullSecret.content": ,\n'
    assert len(text) == len(PLAIN.node_config) - len(without) + len(taken) + 147


def test_what_no_machine_could_use_has_no_size() -> None:
    assert measured("pullSecret", b'{"auths": {"\\ud800": {}}}') == (
        0, "holds text that is not Unicode",
    )  # fmt: skip
    assert measured("trustBundle", b"none")[0] == 0


def with_bytes(count: int) -> Added:
    """A pull secret that makes so many bytes of what is served."""
    smallest = served_bytes(PLAIN.node_config, NOTHING, Added(pull_secret=2, trust_bundle=9))
    return Added(pull_secret=count - smallest + 2, trust_bundle=9)


def test_a_config_may_have_as_many_bytes_as_can_be_served_and_not_one_more() -> None:
    """4 MiB, and 32 KiB of it are kept for what a machine joins with."""
    most, beyond = with_bytes(4_161_536), with_bytes(4_161_537)

    assert why_too_large(PLAIN.node_config, PLAIN.leaves, NOTHING, most) is None
    found = why_too_large(PLAIN.node_config, PLAIN.leaves, NOTHING, beyond)

    assert found is not None
    assert (found.found, found.field) == (4_161_537, "spec.pullSecret.name")
    assert found.text.startswith(
        "the node config has 4161537 bytes, at most 4161536 can be served: the pull secret has 416"
    )


def test_what_a_machine_joins_with_has_room_beside_the_largest_config() -> None:
    logins = json.dumps({"auths": {}, "x": "y" * (1 << 20)}).encode()
    count, _ = measured("pullSecret", logins)
    text = make_revision(platform=platform_document(cloudConfig="x" * 100)).node_config
    spare = 4_161_536 - served_bytes(text, NOTHING, Added(pull_secret=count))
    text = text.replace("x" * 100, "x" * (100 + spare))
    join = Join(server="api.example.test:6443", ca="C" * (23 << 10), token="t" * 23)

    served = served_config(text, NOTHING, join, PoolSecrets(pull_secret=logins))

    assert 4_161_536 < len(served) <= 4_194_304


def test_the_largest_parts_are_named_the_largest_first() -> None:
    revision = make_revision(
        pool_document(
            config=[{"kind": "Files", "files": [{"path": "/etc/big", "content": "x" * 1_500_000}]}]
        ),
        platform_document(cloudConfig="x" * 1_600_000),
    )

    found = why_too_large(
        revision.node_config, revision.leaves, NOTHING, Added(pull_secret=1_000_000)
    )

    assert found is not None
    assert found.field == "spec.config.files./etc/big"
    assert found.text.partition(": ")[2] == (
        "config.files./etc/big has 2000025 bytes, the platform's cloudConfig 1600002, "
        "the pull secret 1000000"
    )


def test_the_labels_of_a_pool_count_too() -> None:
    labels = {f"label-{number}": "x" * 60 for number in range(50_000)}
    revision = make_revision()

    found = why_too_large(
        revision.node_config, revision.leaves, NodeSettings(labels=labels), Added()
    )

    assert found is not None
    assert found.field == "spec.labels"


def test_a_small_config_is_not_rendered_to_know_that_it_is_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rendered(*_: object) -> int:
        raise AssertionError("it was rendered")

    monkeypatch.setattr("fairlead.rollout.served.config.served_bytes", rendered)

    assert why_too_large(PLAIN.node_config, PLAIN.leaves, NOTHING, Added(pull_secret=900)) is None


def test_a_config_that_was_kept_in_another_writing_is_measured_as_it_is_served() -> None:
    many = {f"name-{number}": 1 for number in range(1_000)}
    compact = json.dumps({"fairlead": {"a": "x" * 4_145_000, **many}}, separators=(",", ":"))
    assert len(compact) < 4_158_000

    found = why_too_large(compact, {}, NOTHING, Added())

    assert found is not None
    assert found.found > 4_161_536


def test_an_agent_reads_as_much_as_is_served() -> None:
    assert LARGEST_SERVED == LARGEST_BODY == 4_194_304


def test_the_sentence_of_the_service_is_about_the_size() -> None:
    assert size_problem(9) == "the node config has 9 bytes, at most 4194304 can be served"
