"""The localdns service: limits and Corefiles."""

import base64
from collections.abc import Callable

import pytest

Variables = Callable[..., dict[str, str]]

HEAD = """\
# ***********************************************************************************
# WARNING: Changes to this file will be overwritten and not persisted.
# ***********************************************************************************
# whoami (used for health check of DNS)
health-check.localdns.local:53 {
    bind 169.254.10.10 169.254.10.11
    whoami
}
# VnetDNS overrides apply to DNS traffic from pods with dnsPolicy:default or kubelet (referred to as VnetDNS traffic).
"""  # noqa: E501
KUBE_HEAD = (
    "# KubeDNS overrides apply to DNS traffic from pods with dnsPolicy:ClusterFirst "
    "(referred to as KubeDNS traffic).\n"
)


def profile(**fields: object) -> dict[str, object]:
    return {"local_dns_profile": {"enable_local_dns": True, **fields}}


def corefile(environment: dict[str, str], variable: str = "LOCALDNS_COREFILE_BASE") -> str:
    return base64.b64decode(environment[variable]).decode()


def test_localdns_that_is_off_has_no_corefile_and_default_limits(variables: Variables) -> None:
    off = {"cpu_limit_in_milli_cores": 5, "memory_limit_in_mb": 5, "enable_hosts_plugin": True}

    environment = variables({"local_dns_profile": off})

    assert environment["SHOULD_ENABLE_LOCALDNS"] == "false"
    assert environment["SHOULD_ENABLE_HOSTS_PLUGIN"] == "false"
    assert environment["LOCALDNS_COREFILE_BASE"] == ""
    assert environment["LOCALDNS_COREFILE_WITH_HOSTS"] == ""
    assert environment["LOCALDNS_CPU_LIMIT"] == "200.0%"
    assert environment["LOCALDNS_MEMORY_LIMIT"] == "128M"


def test_localdns_without_overrides_answers_its_health_check_only(variables: Variables) -> None:
    environment = variables(profile(enable_hosts_plugin=True))

    assert environment["SHOULD_ENABLE_HOSTS_PLUGIN"] == "true"
    assert corefile(environment) == HEAD + KUBE_HEAD
    assert corefile(environment, "LOCALDNS_COREFILE_WITH_HOSTS") == HEAD + KUBE_HEAD


@pytest.mark.parametrize(
    ("millicores", "limit"),
    [(0, "200.0%"), (1, "0.1%"), (2005, "200.5%"), (-15, "-1.5%")],
)
def test_the_cpu_limit_is_a_percentage(variables: Variables, millicores: int, limit: str) -> None:
    environment = variables(profile(cpu_limit_in_milli_cores=millicores, memory_limit_in_mb=7))

    assert environment["LOCALDNS_CPU_LIMIT"] == limit
    assert environment["LOCALDNS_MEMORY_LIMIT"] == "7M"


def test_critical_names_are_trimmed_and_listed_even_if_localdns_is_off(
    variables: Variables,
) -> None:
    names = {"critical_fqdns": [" a.test\n", "", "\u00a0", "b.test", "\x1f"]}

    environment = variables({"local_dns_profile": names})

    assert environment["LOCALDNS_CRITICAL_FQDNS"] == "a.test,b.test,\x1f"


@pytest.mark.parametrize(("seconds", "text"), [(5, "5"), (0, ""), (-5, "")])
def test_the_refresh_interval_is_positive_or_left_out(
    variables: Variables, seconds: int, text: str
) -> None:
    environment = variables(profile(hosts_plugin_refresh_interval_in_seconds=seconds))

    assert environment["LOCALDNS_HOSTS_PLUGIN_REFRESH_INTERVAL_IN_SECONDS"] == text


def test_every_option_of_an_override_has_its_line(variables: Variables) -> None:
    override = {
        "query_logging": "Log",
        "protocol": "ForceTCP",
        "forward_destination": "ClusterCoreDNS",
        "forward_policy": "RoundRobin",
        "max_concurrent": 1000,
        "cache_duration_in_seconds": 3600,
        "serve_stale": "Immediate",
        "serve_stale_duration_in_seconds": 60,
        "failfast_all_unhealthy_upstreams": True,
        "health_check": {"duration": "5s", "no_rec": True, "domain": "x.test"},
    }

    content = corefile(variables(profile(kube_dns_overrides={"a.test": override})))

    assert content.removeprefix(HEAD + KUBE_HEAD) == (
        "a.test:53 {\n"
        "    log\n"
        "    bind 169.254.10.11\n"
        "    forward . 10.0.0.10 {\n"
        "        force_tcp\n"
        "        policy round_robin\n"
        "        max_concurrent 1000\n"
        "        health_check 5s no_rec domain x.test\n"
        "        failfast_all_unhealthy_upstreams\n"
        "    }\n"
        "    ready 169.254.10.11:8181\n"
        "    cache 3600 {\n"
        "        success 9984\n"
        "        denial 9984\n"
        "        serve_stale 60s immediate\n"
        "        servfail 0\n"
        "    }\n"
        "    loop\n"
        "    nsid localdns-pod\n"
        "    prometheus :9253\n"
        "}\n"
    )


@pytest.mark.parametrize("listener", ["vnet_dns_overrides", "kube_dns_overrides"])
@pytest.mark.parametrize(
    ("protocol", "line"),
    [
        ("PreferUDP", "        prefer_udp\n"),
        ("ForceTCP", "        force_tcp\n"),
        ("forcetcp", ""),
        ("prefer_udp", ""),
        ("UDP", ""),
        ("", ""),
    ],
)
def test_the_protocol_is_asked_for_only_in_the_words_of_the_contract(
    variables: Variables, listener: str, protocol: str, line: str
) -> None:
    override = {"protocol": protocol, "max_concurrent": 1}

    content = corefile(variables(profile(**{listener: {"a.test": override}})))

    expected = f" {{\n{line}        policy sequential\n        max_concurrent 1\n    }}\n"
    assert f"    forward . 168.63.129.16{expected}" in content


def test_what_an_override_leaves_out_is_written_as_nil(variables: Variables) -> None:
    override = {"query_logging": "Error", "forward_policy": "Random", "serve_stale": "Verify"}

    content = corefile(variables(profile(vnet_dns_overrides={"a.test": override})))

    assert "a.test:53 {\n    errors\n    bind 169.254.10.10\n" in content
    assert "        policy random\n        max_concurrent <nil>\n    }\n" in content
    assert "    cache <nil> {\n" in content
    assert "        serve_stale <nil>s verify\n" in content


def test_the_hosts_plugin_serves_root_domains_only(variables: Variables) -> None:
    overrides: dict[str, object] = {".": {}, "a.test": {}}

    environment = variables(profile(vnet_dns_overrides=overrides, kube_dns_overrides=overrides))

    plugin = (
        "    hosts /etc/localdns/hosts {\n        ttl 5\n        reload 5s\n        fallthrough\n"
    )
    assert corefile(environment, "LOCALDNS_COREFILE_WITH_HOSTS").count(plugin) == 2
    assert plugin not in corefile(environment)
    assert environment["LOCALDNS_GENERATED_COREFILE"] == environment["LOCALDNS_COREFILE_BASE"]


@pytest.mark.parametrize(
    ("listener", "domain", "server"),
    [
        # The host's root domain goes to Azure whatever the override says.
        ("vnet_dns_overrides", ".", "168.63.129.16"),
        ("vnet_dns_overrides", "a.test", "10.9.9.9"),
        ("kube_dns_overrides", ".", "10.9.9.9"),
        ("kube_dns_overrides", "a.test", "10.9.9.9"),
    ],
)
def test_cluster_names_go_to_the_cluster(
    variables: Variables, listener: str, domain: str, server: str
) -> None:
    overrides = {domain: {"forward_destination": "ClusterCoreDNS"}}
    network = {"cluster_network_config": {"core_dns_service_ip": "10.9.9.9"}}
    document = {**profile(**{listener: overrides}), "cluster_config": network}

    assert f"forward . {server} {{" in corefile(variables(document))


@pytest.mark.parametrize(
    ("domain", "server"),
    [
        ("cluster.local", "10.0.0.10"),
        ("my-cluster.local", "10.0.0.10"),
        ("cluster.local.test", "168.63.129.16"),
    ],
)
def test_a_domain_ending_in_cluster_local_is_the_clusters(
    variables: Variables, domain: str, server: str
) -> None:
    content = corefile(variables(profile(vnet_dns_overrides={domain: {}})))

    assert f"forward . {server} {{" in content
