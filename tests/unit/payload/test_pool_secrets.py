"""What a pool's names point to reaches its machines, and nothing else."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.steps.kubelet.certificates import certificate_files
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_settings import pull_secret_of
from fairlead.errors import InputError
from fairlead.payload.answer import config_answer, served_config
from fairlead.payload.bearer import Bearer
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.secrets import TokenSecret
from fairlead.rollout.served.pool_secrets import PoolSecrets
from fairlead.sim.clock import START
from pool_documents import make_revision, pool_document

ONE = "-----BEGIN CERTIFICATE-----\nQUFB\n-----END CERTIFICATE-----\n"
OTHER = "-----BEGIN CERTIFICATE-----\nQkJC\n-----END CERTIFICATE-----\n"
LOGINS: dict[str, Any] = {"auths": {"registry.example.test": {"auth": "cm9ib3Q6aHVudGVyMg=="}}}
REVISION = make_revision(pool_document(trustBundle={"name": "company-ca"}))
PAIR = TokenSecret(
    pool="workers",
    id=REVISION.id,
    revision=REVISION,
    served=REVISION,
    token="dG9rZW4=",
    issued_at=START,
)
SECRETS = PoolSecrets(
    pull_secret=json.dumps(LOGINS).encode(),
    trust_bundle=f"# company\n{ONE}\n# and its daughter\n{OTHER}".encode(),
)


def test_a_machine_is_given_the_content_in_the_place_of_the_names() -> None:
    body = served_config(REVISION.node_config, NodeSettings(), None, SECRETS)

    parsed = parse_node_config(body)
    assert pull_secret_of(parsed.config) == LOGINS
    assert [content.decode() for content in certificate_files(parsed.config).values()] == [
        ONE,
        OTHER,
    ]
    assert not {"pullSecret.name", "trustBundle.name"} & parsed.config.settings.keys()


def test_certificates_of_the_platform_stay() -> None:
    config = json.dumps({"version": "v1", "custom_ca_certs": [OTHER]})

    body = served_config(config, NodeSettings(), None, PoolSecrets(trust_bundle=ONE.encode()))

    assert json.loads(body)["custom_ca_certs"] == [OTHER, base64.b64encode(ONE.encode()).decode()]


def test_a_revision_holds_neither_secret_nor_certificate() -> None:
    assert "QUFB" not in REVISION.node_config
    assert "hunter2" not in repr(SECRETS)
    assert "QUFB" not in repr(SECRETS)


@pytest.mark.parametrize(
    ("secrets", "problem"),
    [
        (PoolSecrets(problem="the pull secret a cannot be read"), "the pull secret a cannot"),
        (PoolSecrets(pull_secret=b""), "spec.pullSecret: is no JSON"),
        (PoolSecrets(pull_secret=b"user:hunter2"), "spec.pullSecret: is no JSON"),
        (PoolSecrets(pull_secret=b'{"hunter2": {}}'), "spec.pullSecret: holds no logins"),
        (PoolSecrets(pull_secret=b'["hunter2"]'), "spec.pullSecret: holds no logins"),
        (PoolSecrets(trust_bundle=b"hunter2"), "spec.trustBundle: holds no certificate"),
        (PoolSecrets(trust_bundle=ONE[:-10].encode()), "spec.trustBundle: ends within a cert"),
    ],
)
def test_content_that_cannot_be_used_is_the_owners_to_mend_and_not_told(
    secrets: PoolSecrets, problem: str
) -> None:
    answer = config_answer(Bearer(pair=PAIR), None, secrets)

    assert answer.status == 500
    assert answer.problem.startswith(problem)
    assert "hunter2" not in answer.problem
    assert b"hunter2" not in answer.body


@pytest.mark.parametrize("config", ['{"fairlead": []}', '{"custom_ca_certs": {}, "fairlead": 1}'])
def test_a_stored_config_of_another_shape_is_refused(config: str) -> None:
    with pytest.raises(InputError):
        served_config(config, NodeSettings(), None, SECRETS)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_whatever_the_files_hold_a_fetch_is_answered(pull_secret: bytes, bundle: bytes) -> None:
    secrets = PoolSecrets(pull_secret=pull_secret, trust_bundle=bundle)

    answer = config_answer(Bearer(pair=PAIR), None, secrets)

    assert answer.status in (200, 500)
    assert bool(answer.problem) == (answer.status == 500)
