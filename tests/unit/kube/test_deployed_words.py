"""What containers are told in deploy/kube is what our commands understand."""

import pytest
import yaml

from fairlead.cli.parser import UsageError
from shared_cases import REPOSITORY
from unit.kube.deployed_words import understood, words_given

GIVEN = dict(
    found
    for file in sorted((REPOSITORY / "deploy" / "kube").rglob("*.yaml"))
    for found in words_given(yaml.safe_load_all(file.read_text()))
)


def test_each_program_of_a_cluster_has_a_manifest() -> None:
    assert {name: words[0] for name, words in GIVEN.items()} == {
        "fairlead-extension": "extension",
        "fairlead-hotfix": "hotfix",
        "fairlead-operator": "operator",
        "fairlead-payload": "payload",
    }


@pytest.mark.parametrize("name", GIVEN)
def test_every_flag_of_a_manifest_is_one_of_its_command(name: str) -> None:
    flags = understood(GIVEN[name])

    assert flags["metrics"] == "0.0.0.0:8080"  # noqa: S104 - as the manifests have it
    with pytest.raises(UsageError):
        understood([*GIVEN[name], "--no-such-flag"])
