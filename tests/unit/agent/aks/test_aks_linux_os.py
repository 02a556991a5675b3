"""Kernel settings, limits, swap and the time of the scripts."""

import base64
from collections.abc import Callable

import pytest

from fairlead.agent.aks.sysctl_content import last_port_of

Variables = Callable[..., dict[str, str]]


def sysctl(environment: dict[str, str]) -> list[str]:
    return base64.b64decode(environment["SYSCTL_CONTENT"]).decode().split("\n")


def os_config(**fields: object) -> dict[str, object]:
    return {"custom_linux_os_config": fields}


def test_kernel_settings_have_defaults(variables: Variables) -> None:
    assert sysctl(variables({})) == [
        "net.core.message_burst=80",
        "net.core.message_cost=40",
        "net.core.somaxconn=16384",
        "net.ipv4.neigh.default.gc_thresh1=4096",
        "net.ipv4.neigh.default.gc_thresh2=8192",
        "net.ipv4.neigh.default.gc_thresh3=16384",
        "net.ipv4.tcp_max_syn_backlog=16384",
        "net.ipv4.tcp_retries2=8",
        "",
    ]


def test_a_kernel_setting_of_zero_is_written(variables: Variables) -> None:
    settings = {
        "net_core_somaxconn": 0,
        "vm_swappiness": 0,
        "net_ipv4_tcp_tw_reuse": False,
        "net_ipv4_tcpkeepalive_intvl": 30,
        "net_ipv4_ip_local_port_range": "",
    }

    lines = sysctl(variables(os_config(sysctl_config=settings)))

    assert "net.core.somaxconn=0" in lines
    assert "vm.swappiness=0" in lines
    assert "net.ipv4.tcp_tw_reuse=0" in lines
    assert "net.ipv4.tcp_keepalive_intvl=30" in lines
    assert not any("port" in line for line in lines)


def test_a_wide_port_range_reserves_a_port(variables: Variables) -> None:
    wide = {"net_ipv4_ip_local_port_range": "32768 65400"}
    narrow = {"net_ipv4_ip_local_port_range": "32768 65330"}

    assert sysctl(variables(os_config(sysctl_config=wide)))[3:5] == [
        "net.ipv4.ip_local_port_range=32768 65400",
        "net.ipv4.ip_local_reserved_ports=65330",
    ]
    assert "net.ipv4.ip_local_reserved_ports=65330" not in sysctl(
        variables(os_config(sysctl_config=narrow))
    )


@pytest.mark.parametrize(
    ("port_range", "last"),
    [
        ("1 2", 2),
        ("+1 +2", 2),
        ("2 2", -1),
        ("0 5", -1),
        ("-1 5", -1),
        ("1  2", -1),
        ("1 2 3", -1),
        ("1\t2", -1),
        ("1", -1),
        ("1 x", -1),
        ("1 2_0", -1),
        ("1 \u0663", -1),
        ("1 9223372036854775807", 9223372036854775807),
        ("1 9223372036854775808", -1),
        pytest.param("1 " + "9" * 5000, -1, id="five thousand digits"),
        ("", -1),
    ],
)
def test_a_port_range_is_two_rising_numbers(port_range: str, last: int) -> None:
    assert last_port_of(port_range) == last


@pytest.mark.parametrize(
    ("limits", "content"),
    [
        ({}, "[Service] "),
        ({"no_file": "1048576"}, "[Service] LimitNOFILE=1048576 "),
        ({"no_file": "", "max_locked_memory": "1"}, "[Service] LimitMEMLOCK=1 LimitNOFILE= "),
    ],
)
def test_limits_are_written_as_set(
    variables: Variables, limits: dict[str, str], content: str
) -> None:
    environment = variables(os_config(ulimit_config=limits))

    assert environment["CONTAINERD_ULIMITS"] == content
    assert environment["SHOULD_CONFIG_CONTAINERD_ULIMITS"] == "true"


def test_no_limits_are_no_content(variables: Variables) -> None:
    assert variables({})["CONTAINERD_ULIMITS"] == ""
    assert variables({})["SHOULD_CONFIG_CONTAINERD_ULIMITS"] == "false"


@pytest.mark.parametrize(
    ("enabled", "size", "needed"),
    [(True, 100, "true"), (True, 0, "false"), (True, -1, "false"), (False, 100, "false")],
)
def test_swap_needs_the_switch_and_a_size(
    variables: Variables, enabled: bool, size: int, needed: str
) -> None:
    environment = variables(os_config(enable_swap_config=enabled, swap_file_size=size))

    assert environment["SHOULD_CONFIG_SWAP_FILE"] == needed
    assert environment["SWAP_FILE_SIZE_MB"] == str(size)


@pytest.mark.parametrize(
    ("seconds", "timeout"),
    [(1, "1"), (21600, "21600"), (21601, "900"), (0, "900"), (-5, "900")],
)
def test_a_script_time_out_of_range_is_replaced(
    variables: Variables, seconds: int, timeout: str
) -> None:
    assert variables({"cse_timeout": seconds})["CSE_TIMEOUT"] == timeout
