"""
Which Azure cloud a machine is in, by its location or by a custom cloud's name.

A custom cloud is one whose environment name is `akscustom`; the names of the public clouds in
that field change nothing. Only a custom cloud's document is asked for its ARM endpoint.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import WHITE_SPACE, is_same_folded, render_flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine

CUSTOM_CLOUD = "akscustom"
PUBLIC_CLOUD = "AzurePublicCloud"
CHINA_CLOUD = "AzureChinaCloud"
GERMAN_CLOUD = "AzureGermanCloud"
US_GOVERNMENT_CLOUD = "AzureUSGovernmentCloud"
STACK_CLOUD = "AzureStackCloud"

LOCATION_PREFIXES = (
    ("china", CHINA_CLOUD),
    ("usgov", US_GOVERNMENT_CLOUD),
    ("usdod", US_GOVERNMENT_CLOUD),
)
GERMAN_LOCATIONS = ("germanynortheast", "germanycentral")

# The German cloud is closed; upstream gives its machines the public endpoint.
ARM_ENDPOINTS = {
    US_GOVERNMENT_CLOUD: "https://management.usgovcloudapi.net/",
    CHINA_CLOUD: "https://management.chinacloudapi.cn/",
}
PUBLIC_ARM_ENDPOINT = "https://management.azure.com/"
ARM_ENDPOINT_NAME = "resourcemanagerendpoint"


def is_custom_cloud(machine: Machine) -> bool:
    """Say whether the machine is in a custom cloud."""
    name = machine.config.text("custom_cloud_config.custom_cloud_env_name")
    return is_same_folded(name, CUSTOM_CLOUD)


def custom_cloud(machine: Machine) -> str:
    """IS_CUSTOM_CLOUD."""
    return render_flag(is_custom_cloud(machine))


def cloud_of(location: str) -> str:
    """Return the public or sovereign cloud of a location, written as `West US 3` or `westus3`."""
    place = "".join(letter for letter in location if letter not in WHITE_SPACE).lower()
    if place in GERMAN_LOCATIONS:
        return GERMAN_CLOUD
    for prefix, cloud in LOCATION_PREFIXES:
        if place.startswith(prefix):
            return cloud
    return PUBLIC_CLOUD


def target_environment(machine: Machine) -> str:
    """TARGET_ENVIRONMENT."""
    if is_custom_cloud(machine):
        return CUSTOM_CLOUD
    return cloud_of(machine.config.text("cluster_config.location"))


def target_cloud(machine: Machine) -> str:
    """TARGET_CLOUD."""
    return STACK_CLOUD if is_custom_cloud(machine) else target_environment(machine)


def environment_file(machine: Machine) -> str:
    """AZURE_ENVIRONMENT_FILEPATH."""
    return f"/etc/kubernetes/{CUSTOM_CLOUD}.json" if is_custom_cloud(machine) else ""


def repo_depot_endpoint(machine: Machine) -> str:
    """REPO_DEPOT_ENDPOINT."""
    if not is_custom_cloud(machine):
        return ""
    return machine.config.text("custom_cloud_config.repo_depot_endpoint")


def arm_endpoint(machine: Machine) -> str:
    """ARM_RESOURCE_ENDPOINT."""
    config = machine.config
    if is_custom_cloud(machine):
        return _arm_endpoint_in(config.text("custom_cloud_config.custom_env_json_content"))
    cloud = cloud_of(config.text("cluster_config.location"))
    return ARM_ENDPOINTS.get(cloud, PUBLIC_ARM_ENDPOINT)


def _arm_endpoint_in(document: str) -> str:
    """Return what a custom cloud's document says; '' if it is broken or says nothing."""
    from fairlead.contract.json_text import Pairs, parse_json
    from fairlead.errors import InputError

    try:
        members = parse_json(document.encode())
    except InputError:
        return ""
    endpoint = ""
    for name, value in members if isinstance(members, Pairs) else ():
        if value is None or not is_same_folded(name, ARM_ENDPOINT_NAME):
            continue
        if not isinstance(value, str):
            return ""
        # The last one counts. A lone surrogate has no UTF-8; Go puts the replacement character.
        endpoint = "".join("\ufffd" if "\ud800" <= mark <= "\udfff" else mark for mark in value)
    return endpoint
