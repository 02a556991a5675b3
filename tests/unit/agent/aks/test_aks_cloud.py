"""The cloud of a machine, by location and by a custom cloud's name."""

from collections.abc import Callable

import pytest

from fairlead.agent.aks.cloud import cloud_of

Variables = Callable[..., dict[str, str]]


@pytest.mark.parametrize(
    ("location", "cloud"),
    [
        ("westeurope", "AzurePublicCloud"),
        ("West US 3", "AzurePublicCloud"),
        ("", "AzurePublicCloud"),
        ("China North 3", "AzureChinaCloud"),
        ("chinaeast2", "AzureChinaCloud"),
        ("US Gov Virginia", "AzureUSGovernmentCloud"),
        ("usdodcentral", "AzureUSGovernmentCloud"),
        ("germanynortheast", "AzureGermanCloud"),
        ("Germany Central", "AzureGermanCloud"),
        ("germanywestcentral", "AzurePublicCloud"),
        ("usnatwest", "AzurePublicCloud"),
        ("southchina", "AzurePublicCloud"),
    ],
)
def test_the_location_decides_the_cloud(location: str, cloud: str) -> None:
    assert cloud_of(location) == cloud


@pytest.mark.parametrize(
    ("location", "endpoint"),
    [
        ("usgovarizona", "https://management.usgovcloudapi.net/"),
        ("chinaeast", "https://management.chinacloudapi.cn/"),
        ("germanycentral", "https://management.azure.com/"),
        ("eastus", "https://management.azure.com/"),
    ],
)
def test_each_cloud_has_its_arm_endpoint(
    variables: Variables, location: str, endpoint: str
) -> None:
    environment = variables({"cluster_config": {"location": location}})

    assert environment["ARM_RESOURCE_ENDPOINT"] == endpoint


def test_a_custom_cloud_is_known_by_its_name_in_any_case(variables: Variables) -> None:
    custom = {"custom_cloud_env_name": "AksCustom", "repo_depot_endpoint": "https://depot.test"}

    environment = variables(
        {"custom_cloud_config": custom, "cluster_config": {"location": "chinaeast"}}
    )

    assert environment["IS_CUSTOM_CLOUD"] == "true"
    assert environment["TARGET_CLOUD"] == "AzureStackCloud"
    assert environment["TARGET_ENVIRONMENT"] == "akscustom"
    assert environment["AZURE_ENVIRONMENT_FILEPATH"] == "/etc/kubernetes/akscustom.json"
    assert environment["REPO_DEPOT_ENDPOINT"] == "https://depot.test"


# The last name has a ligature for its s and t.
@pytest.mark.parametrize("name", ["AzureChinaCloud", "akscustom ", "akscu\ufb06om"])
def test_another_cloud_name_changes_nothing(variables: Variables, name: str) -> None:
    custom = {"custom_cloud_env_name": name, "repo_depot_endpoint": "x"}

    environment = variables({"custom_cloud_config": custom})

    assert environment["IS_CUSTOM_CLOUD"] == "false"
    assert environment["TARGET_CLOUD"] == "AzurePublicCloud"
    assert environment["AZURE_ENVIRONMENT_FILEPATH"] == ""
    assert environment["REPO_DEPOT_ENDPOINT"] == ""


@pytest.mark.parametrize(
    ("content", "endpoint"),
    [
        ('{"resourceManagerEndpoint": "https://arm.test/"}', "https://arm.test/"),
        ('{"RESOURCEMANAGERENDPOINT": "a", "resourceManagerEndpoint": "b"}', "b"),
        ('{"resourceManagerEndpoint": "a", "resourceManagerEndpoint": null}', "a"),
        ('{"resourceManagerEndpoint": 5, "resourceManagerEndpoint": "b"}', ""),
        ('{"resourceManagerEndpoint": "a\\ud800"}', "a\ufffd"),
        ('{"name": "x"}', ""),
        ('{"resourceManagerEndpoint": "a"} more', ""),
        ("[]", ""),
        ("null", ""),
        ("not json", ""),
        ("", ""),
    ],
)
def test_a_custom_cloud_says_where_arm_is(
    variables: Variables, content: str, endpoint: str
) -> None:
    custom = {"custom_cloud_env_name": "akscustom", "custom_env_json_content": content}

    assert variables({"custom_cloud_config": custom})["ARM_RESOURCE_ENDPOINT"] == endpoint
