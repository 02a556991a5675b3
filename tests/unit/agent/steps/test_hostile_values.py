"""A value of the config stays a value: it is quoted, or refused with the path of its field."""

import gzip
import json
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.host import RealHost
from fairlead.agent.on_failure import STOP_BOOT
from fairlead.agent.steps.run import run_steps
from fairlead.agent.steps.step import Step
from fairlead.agent.steps.systemd import command_word, environment_line
from fairlead.agent.steps.table import NODE_STEPS
from fairlead.contract.node_parse import parse_node_config
from fairlead.errors import InputError
from fairlead.sim.host import SimHost
from shared_cases import shared_case
from unit.agent.steps.machine import CERTIFICATE, make_config, run_all

OS = "custom_linux_os_config"

# field path in the error, top-level fields of the config
REFUSED: list[tuple[str, dict[str, Any]]] = [
    (
        "kubelet_config.kubelet_node_labels[pool]",
        {"kubelet_config": {"kubelet_node_labels": {"pool": "a\nExecStartPre=/bin/evil"}}},
    ),
    (
        "kubelet_config.kubelet_node_labels[pool]",
        {"kubelet_config": {"kubelet_node_labels": {"pool": "a,admin=true"}}},
    ),
    (
        "kubelet_config.kubelet_node_labels[pool=a,admin]",
        {"kubelet_config": {"kubelet_node_labels": {"pool=a,admin": "true"}}},
    ),
    (
        "kubelet_config.kubelet_node_labels[node-role.kubernetes.io/master]",
        {"kubelet_config": {"kubelet_node_labels": {"node-role.kubernetes.io/master": ""}}},
    ),
    (
        "kubelet_config.kubelet_flags[--v]",
        {"kubelet_config": {"kubelet_flags": {"--v": "2\n[Service]"}}},
    ),
    (
        'kubelet_config.kubelet_flags[--v" "--x]',
        {"kubelet_config": {"kubelet_flags": {'--v" "--x': "2"}}},
    ),
    (
        "kubelet_config.kubelet_flags[v]",
        {"kubelet_config": {"kubelet_flags": {"v": "2"}}},
    ),
    (
        "kubelet_config.kubelet_flags[--register-with-taints]",
        {"kubelet_config": {"kubelet_flags": {"--register-with-taints": "a=b:NoWay"}}},
    ),
    (
        "http_proxy_config.http_proxy",
        {"http_proxy_config": {"http_proxy": "http://proxy\nLD_PRELOAD=/tmp/x.so"}},
    ),
    (
        "http_proxy_config.no_proxy_entries",
        {"http_proxy_config": {"no_proxy_entries": ["a", "b\r"]}},
    ),
    (
        "kube_binary_config.pod_infra_container_image_url",
        {"kube_binary_config": {"pod_infra_container_image_url": 'pause"\nroot="/"'}},
    ),
    (
        "kubelet_config.container_data_dir",
        {"kubelet_config": {"container_data_dir": "relative"}},
    ),
    (
        "kubelet_config.kubelet_config_file_config.static_pod_path",
        {"kubelet_config": {"kubelet_config_file_config": {"static_pod_path": "/a\0b"}}},
    ),
    (
        "api_server_config.api_server_name",
        {"api_server_config": {"api_server_name": "api.example.test/evil?"}},
    ),
    (
        "api_server_config.api_server_name",
        {"api_server_config": {"api_server_name": "api.example.test:99999"}},
    ),
    ("api_server_config.api_server_name", {"api_server_config": {}}),
    ("kubernetes_ca_cert", {"kubernetes_ca_cert": ""}),
    ("kubernetes_ca_cert", {"kubernetes_ca_cert": "bm90IGEgY2VydGlmaWNhdGU="}),
    ("custom_ca_certs[1]", {"custom_ca_certs": [CERTIFICATE, "ü"]}),
    ("bootstrapping_config.tls_bootstrapping_token", {"bootstrapping_config": {}}),
    (
        "bootstrapping_config.tls_bootstrapping_token",
        {"bootstrapping_config": {"tls_bootstrapping_token": "abc\r\nHost: evil"}},
    ),
]

# The same, for steps that a boot goes on without.
LEFT_OUT: list[tuple[str, dict[str, Any]]] = [
    (f"{OS}.ulimit_config.no_file", {OS: {"ulimit_config": {"no_file": "1\nUser=x"}}}),
    (f"{OS}.transparent_defrag", {OS: {"transparent_defrag": "$(reboot)"}}),
    (f"{OS}.swap_file_size", {OS: {"enable_swap_config": True}}),
    (
        f"{OS}.sysctl_config.net_ipv4_ip_local_port_range",
        {OS: {"sysctl_config": {"net_ipv4_ip_local_port_range": "1 2\nkernel.panic=1"}}},
    ),
]


@pytest.mark.parametrize(("field", "fields"), REFUSED)
def test_a_value_that_cannot_be_used_stops_the_boot_and_names_its_field(
    tmp_path: Path, field: str, fields: dict[str, Any]
) -> None:
    result = run_all(RealHost(str(tmp_path)), make_config(**fields))

    assert isinstance(result.error, InputError)
    assert result.error.field == field
    assert "evil" not in str(result.error).replace(field, "")


@pytest.mark.parametrize(("field", "fields"), LEFT_OUT)
def test_a_bad_tuning_value_is_left_out_and_names_its_field(
    tmp_path: Path, field: str, fields: dict[str, Any]
) -> None:
    result = run_all(RealHost(str(tmp_path)), make_config(**fields))

    assert result.error is None
    assert [run.cause.startswith(field + ": ") for run in result.runs if run.word == "skipped"] == [
        True
    ]


def test_percent_dollar_quotes_and_backslashes_stay_what_they_are(tmp_path: Path) -> None:
    config = make_config(
        http_proxy_config={"http_proxy": 'http://u:%n$HOME"`\\@proxy'},
        kubelet_config={"kubelet_flags": {"--v": '%n $HOME $(id) it\'s "q" `x` \\'}},
    )

    run_all(RealHost(str(tmp_path)), config)

    environment = (tmp_path / "etc/fairlead/proxy.env").read_text()
    assert environment.splitlines()[0] == r'HTTP_PROXY="http://u:%n\$HOME\"\`\\@proxy"'
    drop_in = tmp_path / "etc/systemd/system/kubelet.service.d/20-fairlead-command.conf"
    assert r'''  "--v=%%n $$HOME $$(id) it's \"q\" `x` \\"''' in drop_in.read_text().splitlines()


def test_every_step_ends_any_config_of_aks_done_or_with_the_path_of_a_field() -> None:
    with gzip.open(shared_case("aks-env.jsonl.gz"), "rt") as file:
        inputs = [json.loads(line)["input"] for line in file]
    ends: set[str] = set()
    for text in inputs:
        try:
            config = parse_node_config(text.encode()).config
        except InputError:
            continue
        for step in NODE_STEPS:
            result = run_steps((Step(step.name, step.apply, STOP_BOOT),), SimHost(), config, ignore)

            assert result.error is None or isinstance(result.error, InputError)
            assert result.error is None or result.error.field != ""
            ends.add(result.runs[0].word)
    assert ends == {"done", "stopped"}


def ignore(*_: object) -> None:
    """The steps tell as they go; these tests look at the end only."""


PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")))


@given(PRINTABLE)
def test_any_line_is_one_word_of_a_command(text: str) -> None:
    word = command_word(text)

    # Read it back by systemd's rules: one pair of quotes, then escapes, then expansions.
    assert word[0] == word[-1] == '"'
    plain, rest = "", word[1:-1]
    while rest:
        assert rest[0] != '"'
        if rest[0] in "\\%$":
            assert rest[:2] in ("\\\\", '\\"', "%%", "$$")
            plain, rest = plain + rest[1], rest[2:]
        else:
            plain, rest = plain + rest[0], rest[1:]
    assert plain == text


@given(PRINTABLE)
def test_any_line_is_one_value_of_an_environment_file(text: str) -> None:
    line = environment_line("NAME", text)

    plain, rest = "", line.removeprefix('NAME="').removesuffix('"\n')
    while rest:
        assert rest[0] not in '"`$'
        if rest[0] == "\\":
            assert rest[1] in '\\"`$'
            rest = rest[1:]
        plain, rest = plain + rest[0], rest[1:]
    assert plain == text


@pytest.mark.skipif(which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_itself_accepts_every_unit_file(tmp_path: Path) -> None:
    config = make_config(
        http_proxy_config={"http_proxy": "http://proxy.example.test"},
        custom_linux_os_config={
            "enable_swap_config": True,
            "swap_file_size": 100,
            "ulimit_config": {"no_file": "1048576", "max_locked_memory": "64M:infinity"},
        },
        kubelet_config={"kubelet_flags": {"--v": '%n $HOME "q" \\'}},
    )
    for program in ("usr/bin/containerd", "usr/bin/kubelet", "sbin/modprobe"):
        path = tmp_path / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    run_all(RealHost(str(tmp_path)), config)
    # The few targets of a whole system that units refer to without saying so.
    for target in ("sysinit", "basic", "shutdown", "network-online", "swap", "umount"):
        text = "[Unit]\nDefaultDependencies=no\n"
        (tmp_path / f"etc/systemd/system/{target}.target").write_text(text)

    units = ["containerd.service", "kubelet.service", "var-swapfile.swap"]
    verify = ["systemd-analyze", "verify", "--man=no", f"--root={tmp_path}", *units]
    finished = subprocess.run(verify, capture_output=True, text=True, check=False, timeout=60)

    assert (finished.returncode, finished.stderr) == (0, "")
