"""What `kubectl kustomize` makes of the folders that people apply."""

import subprocess
from collections import Counter
from typing import Any

import pytest
import yaml

from kube.built_tools import built_tool
from shared_cases import REPOSITORY
from unit.kube.deployed_words import understood, words_given

pytestmark = pytest.mark.slow


def rendered(folder: str) -> list[dict[str, Any]]:
    words = [str(built_tool("kubectl")), "kustomize", str(REPOSITORY / folder)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return [one for one in yaml.safe_load_all(ran.stdout) if one]


def test_the_folder_of_all_that_is_deployed_is_what_the_page_installs() -> None:
    found = rendered("deploy")

    assert found == rendered("deploy/kube")
    kinds = Counter(one["kind"] for one in found)
    assert (kinds["CustomResourceDefinition"], kinds["Deployment"], kinds["Namespace"]) == (7, 2, 1)


def test_the_example_names_image_address_and_provider_and_is_the_base_besides() -> None:
    found = rendered("deploy/kube/overlays/example")

    base = {(one["kind"], one["metadata"]["name"]) for one in rendered("deploy/kube")}
    assert {(one["kind"], one["metadata"]["name"]) for one in found} - base == {
        ("ClusterRole", "fairlead-operator-docker")
    }
    deployments = [one for one in found if one["kind"] == "Deployment"]
    images = {
        container["image"]
        for one in deployments
        for container in one["spec"]["template"]["spec"]["containers"]
    }
    assert images == {"registry.example.test/fairlead-operator:1"}
    flags = {name: understood(words) for name, words in words_given(deployments)}
    told = flags["fairlead-operator"]
    assert told["payload_address"] == "https://payload.example.test:8443"
    assert told["in_place_image"] == "registry.example.test/fairlead-operator:1"


def test_the_overlay_of_some_namespaces_binds_nothing_for_the_cluster() -> None:
    found = rendered("deploy/kube/overlays/namespaced")

    assert "ClusterRoleBinding" not in {one["kind"] for one in found}
    bound = {
        (one["metadata"]["namespace"], one["roleRef"]["kind"], one["roleRef"]["name"])
        for one in found
        if one["kind"] == "RoleBinding"
    }
    assert bound == {
        ("fairlead-system", "Role", "fairlead-operator-home"),
        ("fairlead-system", "Role", "fairlead-operator-platform"),
        ("team-a", "ClusterRole", "fairlead-operator"),
        ("team-a", "ClusterRole", "fairlead-payload"),
        ("team-b", "ClusterRole", "fairlead-operator"),
        ("team-b", "ClusterRole", "fairlead-payload"),
    }
    subjects = {
        subject["namespace"]
        for one in found
        if one["kind"] == "RoleBinding"
        for subject in one["subjects"]
    }
    assert subjects == {"fairlead-system"}
    deployments = [one for one in found if one["kind"] == "Deployment"]
    flags = {name: understood(words)["pools_in"] for name, words in words_given(deployments)}
    assert flags == {
        "fairlead-operator": ["team-a", "team-b"],
        "fairlead-payload": ["team-a", "team-b"],
    }
