"""Variables that follow from one field, and their defaults."""

from collections.abc import Callable

import pytest

from fairlead.agent.aks.command import BOOTSTRAP_COMMAND
from fairlead.agent.aks.environment import ROWS

Variables = Callable[..., dict[str, str]]


def test_an_empty_document_gives_every_variable(variables: Variables) -> None:
    environment = variables({})

    assert len(environment) == 164
    assert environment.keys() == ROWS.keys()
    assert environment["ADMINUSER"] == "azureuser"
    assert environment["IS_VHD"] == "true"
    assert environment["EXCLUDE_MASTER_FROM_STANDARD_LB"] == "true"
    assert environment["MAXIMUM_LOADBALANCER_RULE_COUNT"] == "148"
    assert environment["DISABLE_SSH"] == "false"


def test_an_optional_field_set_to_zero_is_not_a_default(variables: Variables) -> None:
    balancer = {
        "exclude_master_from_standard_load_balancer": False,
        "max_load_balancer_rule_count": 0,
    }
    provider = {"backoff": False, "backoff_retries": 0, "rate_limit_qps": 0, "backoff_mode": ""}
    cluster = {"load_balancer_config": balancer, "cloud_provider_config": provider}

    environment = variables({"cluster_config": cluster, "is_vhd": False})

    assert environment["EXCLUDE_MASTER_FROM_STANDARD_LB"] == "false"
    assert environment["MAXIMUM_LOADBALANCER_RULE_COUNT"] == "0"
    assert environment["CLOUDPROVIDER_BACKOFF"] == "false"
    assert environment["CLOUDPROVIDER_BACKOFF_RETRIES"] == "0"
    assert environment["CLOUDPROVIDER_RATELIMIT_QPS"] == "0"
    assert environment["CLOUDPROVIDER_BACKOFF_MODE"] == "v2"
    assert environment["IS_VHD"] == "false"


@pytest.mark.parametrize(("enabled", "disabled"), [(True, "false"), (False, "true")])
def test_ssh_is_disabled_only_by_saying_so(
    variables: Variables, enabled: bool, disabled: str
) -> None:
    assert variables({"enable_ssh": enabled})["DISABLE_SSH"] == disabled


def test_a_number_that_is_no_choice_gives_nothing(variables: Variables) -> None:
    network = {"network_plugin": 77, "network_policy": 77}

    environment = variables({"cluster_config": {"vm_type": 77}, "network_config": network})

    assert environment["VM_TYPE"] == ""
    assert environment["NETWORK_PLUGIN"] == ""
    assert environment["NETWORK_POLICY"] == ""


def test_each_custom_certificate_has_a_variable_without_line_breaks(variables: Variables) -> None:
    environment = variables({"custom_ca_certs": ["one\r\ntwo\n", ""]})

    assert environment["CUSTOM_CA_CERT_0"] == "onetwo"
    assert environment["CUSTOM_CA_CERT_1"] == ""
    assert "CUSTOM_CA_CERT_2" not in environment
    assert environment["CUSTOM_CA_TRUST_COUNT"] == "2"
    assert environment["SHOULD_CONFIGURE_CUSTOM_CA_TRUST"] == "true"


def test_the_proxy_certificate_loses_its_line_breaks(variables: Variables) -> None:
    environment = variables({"http_proxy_config": {"proxy_trusted_ca": "a\r\nb\n"}})

    assert environment["HTTP_PROXY_TRUSTED_CA"] == "ab"
    assert environment["SHOULD_CONFIGURE_HTTP_PROXY_CA"] == "true"


def test_proxy_exports_keep_their_order(variables: Variables) -> None:
    proxy = {"http_proxy": "http://h", "https_proxy": "http://s", "no_proxy_entries": ["a", "b"]}

    environment = variables({"http_proxy_config": proxy})

    assert environment["PROXY_VARS"] == (
        'export NO_PROXY="a,b"; export HTTPS_PROXY="http://s"; export http_proxy="http://h";'
    )
    assert environment["SHOULD_CONFIGURE_HTTP_PROXY"] == "true"


@pytest.mark.parametrize(("entries", "exports"), [([], ""), ([""], 'export NO_PROXY=""; ')])
def test_exceptions_alone_need_no_proxy(
    variables: Variables, entries: list[str], exports: str
) -> None:
    environment = variables({"http_proxy_config": {"no_proxy_entries": entries}})

    assert environment["PROXY_VARS"] == exports
    assert environment["SHOULD_CONFIGURE_HTTP_PROXY"] == "false"


def test_a_search_domain_needs_all_three_of_its_texts(variables: Variables) -> None:
    domain = {"domain_name": "corp.test", "realm_user": "u"}

    without = variables({"custom_search_domain_config": domain})
    complete = variables({"custom_search_domain_config": {**domain, "realm_password": "p"}})

    assert without["HAS_CUSTOM_SEARCH_DOMAIN"] == "false"
    assert complete["HAS_CUSTOM_SEARCH_DOMAIN"] == "true"


def test_a_multi_instance_profile_layout_alone_is_no_mig_node(variables: Variables) -> None:
    assert variables({"gpu_config": {"mig_profile_layout": ["1g"]}})["MIG_NODE"] == "false"
    assert variables({"gpu_config": {"gpu_instance_profile": "MIG1g"}})["MIG_NODE"] == "true"


def test_nothing_of_the_machine_is_in_the_command() -> None:
    assert BOOTSTRAP_COMMAND == [
        "/bin/bash",
        "-c",
        'echo $(date),$(hostname) > ${PROVISION_OUTPUT}; if [ -f "${INIT_AKS_CLOUD_FILEPATH}" ]; '
        'then \t"${INIT_AKS_CLOUD_FILEPATH}" >> /var/log/azure/cluster-provision.log 2>&1 '
        "|| exit $?; fi; "
        '/usr/bin/nohup /bin/bash -c "/bin/bash /opt/azure/containers/provision_start.sh" ',
    ]
