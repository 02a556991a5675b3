"""Documents to values: what was written, where it is wrong, what never matters."""

from typing import Any

import pytest

from fairlead.answers.words import Severity
from fairlead.errors import InputError
from fairlead.inputs.defaults import default_os_stream
from fairlead.inputs.leaf import Problem, Unusable
from fairlead.inputs.parse import (
    is_stopped,
    parse_node_pool,
    parse_platform_config,
    platform_rows,
    pool_rows,
    unknown_fields,
)
from fairlead.inputs.platform_inputs import ChangeNotice, Stub
from fairlead.inputs.schema import node_pool_schema, platform_config_schema
from pool_documents import leaves_of, platform_document, pool_document


def test_a_pool_holds_what_was_written_and_nothing_else() -> None:
    pool = parse_node_pool(pool_document())

    assert not isinstance(pool.intent, Unusable)
    assert pool.name == "workers"
    assert pool.intent.leaves == {
        "release.version": "1.34.2",
        "release.digest": "sha256:1111",
        "imageBase": "202607.02",
        "pullSecret.name": "registry-login",
        "machineTemplate.vmSize": "m5.large",
    }
    assert pool.settings == {"replicas": 3}


@pytest.mark.parametrize(
    ("spec", "field", "problem"),
    [
        ({"imageBase": 7}, "spec.imageBase", "found the number 7, expected text "
        "(write it in quotes as it is meant: '7')"),
        ({"endpoint": {"access": "Open"}}, "spec.endpoint.access",
         "found the text 'Open', expected Public or Private or PublicAndPrivate"),
        ({"proxy": "http://p"}, "spec.proxy", "found the text 'http://p', expected a mapping"),
        ({"sshKeys": [1]}, "spec.sshKeys[0]", "found the number 1, expected text "
        "(write it in quotes as it is meant: '1')"),
        ({"config": [{"kind": "Ulimit"}]}, "spec.config[0].kind",
         "found the text 'Ulimit', expected a known kind (known: KubeletConfiguration,"
         " ContainerdConfiguration, Sysctl, Files, Mirrors)"),
        ({"config": [{"kind": "Files", "files": [{"path": "x"}]}]}, "spec.config[0].files[0].path",
         "found the text 'x', expected a whole path"),
        ({"config": [{"kind": "ContainerdConfiguration", "toml": "= 1"}]}, "spec.config[0].toml",
         "is not TOML: Invalid statement (at line 1, column 1)"),
        ({"config": [{"kind": "Sysctl", "text": "vm.swappiness"}]}, "spec.config[0].text",
         "line 1 is not NAME = VALUE"),
        ({"config": [{"kind": "KubeletConfiguration", "maxPods": 1},
                     {"kind": "KubeletConfiguration", "maxPods": 2}]}, "spec.config[1]",
         "config.kubelet.maxPods is set twice, to different values"),
    ],
)  # fmt: skip
def test_a_problem_of_intent_names_its_field(
    spec: dict[str, Any], field: str, problem: str
) -> None:
    pool = parse_node_pool(pool_document(**spec))

    assert pool.intent == Unusable((Problem(field, problem),))
    assert pool.settings == {"replicas": 3}, "a typo in the intent does not stop scaling"


@pytest.mark.parametrize(
    ("spec", "field", "problem"),
    [
        ({"replicas": -1}, "spec.replicas",
         "found the number -1, expected a whole number from 0"),
        ({"replicas": 9999999999}, "spec.replicas",
         "found the number 9999999999, expected at most 2147483647"),
        ({"management": {"maxSurge": "120%"}}, "spec.management.maxSurge",
         "found the text '120%', expected 2 or 25%"),
        ({"timeouts": {"drain": 5}}, "spec.timeouts.drain",
         "found the number 5, expected a duration (90s, 10m, 1h30m or 7d)"),
        ({"paused": "soon"}, "spec.paused", "'soon' is not an RFC 3339 date and time"),
        ({"paused": "2026-11-16T05:00:00"}, "spec.paused",
         "'2026-11-16T05:00:00' names no time zone (end it with Z)"),
        ({"rollout": {"windows": [{"start": "25:00", "duration": "1h"}]}},
         "spec.rollout.windows[0].start", "'25:00' is not a time like 22:00"),
        ({"taints": [{"key": "a", "effect": "Never"}]}, "spec.taints[0].effect",
         "'Never' is none of NoSchedule, PreferNoSchedule, NoExecute"),
    ],
)  # fmt: skip
def test_a_problem_of_settings_leaves_the_intent_usable(
    spec: dict[str, Any], field: str, problem: str
) -> None:
    pool = parse_node_pool(pool_document(**spec))

    assert pool.settings == Unusable((Problem(field, problem),))
    assert not isinstance(pool.intent, Unusable)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "found a list, expected a NodePool document"),
        ({"kind": "NodePool"}, "apiVersion: found nothing, expected fairlead.dev/v1alpha1"),
        (pool_document("Workers"), "metadata.name: found the text 'Workers', expected a name"
         " (lower-case letters, digits and -, at most 51)"),
        (platform_document(), "kind: found the text 'PlatformConfig', expected NodePool"),
    ],
)  # fmt: skip
def test_what_is_no_pool_is_refused(document: object, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_node_pool(document)

    assert str(refused.value) == problem


def test_a_pool_without_a_version_is_unusable() -> None:
    pool = parse_node_pool(pool_document(release=None))

    assert pool.intent == Unusable((Problem("spec.release.version", "is not set"),))


def test_an_unknown_field_is_kept_as_an_unknown_leaf() -> None:
    pool = parse_node_pool(pool_document(flux={"capacitor": 1}))

    assert unknown_fields(pool) == ("flux",)
    assert pool.unknown == {"platform.unknown.flux": {"capacitor": 1}}
    platform = parse_platform_config(platform_document(flux=1))
    assert platform.leaves["platform.unknown.platform.flux"] == 1


def test_order_white_space_comments_and_nil_against_empty_never_matter() -> None:
    one = leaves_of(
        pool_document(
            proxy={"http": "http://p", "noProxy": ["b", "a"], "https": None},
            sshKeys=[],
            config=[
                {"kind": "Sysctl", "text": "# why\nvm.max_map_count =  262144\n"},
                {"kind": "KubeletConfiguration", "maxPods": 110.0, "evictionHard": {"a": "1%"}},
                {"kind": "ContainerdConfiguration", "toml": "# x\nversion = 2\n[grpc]\ngid = 0\n"},
            ],
        )
    )
    other = leaves_of(
        pool_document(
            proxy={"noProxy": ["a", "b", "a"], "http": "http://p"},
            config=[
                {
                    "kind": "ContainerdConfiguration",
                    "settings": {"grpc": {"gid": 0, "x": {}}, "version": 2},
                },
                {
                    "evictionHard": {"a": "1%", "b": None},
                    "featureGates": None,
                    "kind": "KubeletConfiguration",
                },
                {
                    "kind": "KubeletConfiguration",
                    "maxPods": 110,
                    "apiVersion": "kubelet.config.k8s.io/v1beta1",
                },
                {"kind": "Sysctl", "settings": {"vm/max_map_count": 262144}},
                None,
            ],
        )
    )

    assert one == other
    assert one["config.sysctl.vm.max_map_count"] == "262144"


def test_what_is_empty_in_a_kubelet_configuration_was_written() -> None:
    document: dict[str, Any] = {
        "kind": "KubeletConfiguration",
        "enforceNodeAllocatable": [],
        "evictionHard": {},
        "resolvConf": "",
        "logging": {"options": {"text": {}}, "format": None},
        "registerWithTaints": [{"key": "a", "value": "", "effect": "NoSchedule"}],
        "featureGates": None,
    }

    leaves = leaves_of(pool_document(config=[document]))

    assert {path: leaves[path] for path in leaves if path.startswith("config.")} == {
        "config.kubelet.enforceNodeAllocatable": [],
        "config.kubelet.evictionHard": {},
        "config.kubelet.resolvConf": "",
        "config.kubelet.logging": {"options": {"text": {}}},
        "config.kubelet.registerWithTaints": [{"key": "a", "value": "", "effect": "NoSchedule"}],
    }


def test_a_label_without_a_value_is_a_label() -> None:
    pool = parse_node_pool(pool_document(labels={"example.com/spot": "", "a": None, "b": {}}))

    assert not isinstance(pool.settings, Unusable)
    assert pool.settings["labels.example.com/spot"] == ""
    assert {path for path in pool.settings if path.startswith("labels.")} == {
        "labels.example.com/spot"
    }


def test_the_order_of_mirrors_of_one_registry_matters() -> None:
    def leaves(*mirrors: str) -> object:
        documents = [{"kind": "Mirrors", "mirrors": [{"source": "docker.io", "mirrors": mirrors}]}]
        return leaves_of(pool_document(config=documents))["config.mirrors.docker.io"]

    assert leaves("a", "b") == ["a", "b"]
    assert leaves("b", "a") == ["b", "a"]


def test_a_comment_inside_a_file_is_content() -> None:
    documents = [{"kind": "Files", "files": [{"path": "/etc/a", "content": "# a\n"}]}]

    leaves = leaves_of(pool_document(config=documents))

    assert leaves["config.files./etc/a"] == {"contentBase64": "IyBhCg=="}


def test_nothing_is_filled_in_that_the_owner_did_not_write() -> None:
    files = [{"path": "/etc/a"}, {"path": "/etc/b", "mode": "600"}]
    windows = [{"start": "22:00", "duration": "4h"}]
    pool = parse_node_pool(
        pool_document(
            osStream="ubuntu-24.04",
            rollout={"windows": windows},
            config=[{"kind": "Files", "files": files}],
        )
    )

    assert not isinstance(pool.intent, Unusable)
    assert pool.intent.leaves["config.files./etc/a"] == {"contentBase64": ""}
    assert pool.intent.leaves["config.files./etc/b"] == {"contentBase64": "", "mode": "0600"}
    assert pool.intent.leaves["osStream"] == "ubuntu-24.04"
    assert not isinstance(pool.settings, Unusable)
    assert pool.settings["rollout.windows"] == [{"start": "22:00", "duration": 14400}]


@pytest.mark.parametrize(
    ("version", "stream"),
    [
        ("1.33.1", "ubuntu-22.04"),
        ("1.34.0", "ubuntu-24.04"),
        ("v1.35.0-rc.1", "ubuntu-24.04"),
        ("banana", "ubuntu-22.04"),
    ],
)
def test_a_version_has_a_default_stream(version: str, stream: str) -> None:
    assert default_os_stream(version) == stream


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("vm.max_map_count", "vm.max_map_count"),
        ("vm/max_map_count", "vm.max_map_count"),
        ("net.ipv4.conf.eth0/100.rp_filter", "net.ipv4.conf.eth0/100.rp_filter"),
        ("net/ipv4/conf/eth0.100/rp_filter", "net.ipv4.conf.eth0/100.rp_filter"),
        ("net.ipv4.conf.eth0.100.rp_filter", "net.ipv4.conf.eth0.100.rp_filter"),
    ],
)
def test_a_kernel_setting_is_named_as_sysctl_reads_it(written: str, name: str) -> None:
    documents = [{"kind": "Sysctl", "settings": {written: 1}}]

    assert leaves_of(pool_document(config=documents))[f"config.sysctl.{name}"] == "1"


def test_a_notice_gives_a_change_its_id_owner_and_severity() -> None:
    platform = parse_platform_config(
        platform_document(notices={"proxy.image": {"id": "NET-7", "severity": "security"}})
    )

    assert platform.notices == {
        "platform.proxy.image": ChangeNotice(id="NET-7", owner="", severity=Severity.SECURITY)
    }


def test_a_wrong_platform_field_is_refused_by_path() -> None:
    with pytest.raises(InputError) as refused:
        parse_platform_config(platform_document(proxy={"image": 1}))

    assert str(refused.value) == (
        "spec.proxy.image: found the number 1, expected text "
        "(write it in quotes as it is meant: '1')"
    )


def test_everything_in_the_stub_is_read() -> None:
    stub = {"endpoint": "https://e", "ca": "CA", "proxy": "http://p", "report": "https://r"}

    platform = parse_platform_config(platform_document(stub=stub))

    assert platform.stub == Stub(
        endpoint="https://e", ca="CA", proxy="http://p", report="https://r"
    )
    assert not any(path.startswith("platform.stub") for path in platform.leaves)


@pytest.mark.parametrize(
    ("document", "stopped"),
    [
        (platform_document(), False),
        (platform_document(stopEverything=True), True),
        (platform_document(stopEverything=True, proxy=7), True),
        (platform_document(stopEverything="yes"), False),
        ({"spec": None}, False),
        ("text", False),
    ],
)
def test_the_kill_switch_is_read_also_where_nothing_else_can_be(
    document: object, stopped: bool
) -> None:
    assert is_stopped(document) is stopped


def test_the_schemas_name_every_field_that_is_parsed_and_carried_out() -> None:
    schema: Any = node_pool_schema()
    spec = schema["properties"]["spec"]["properties"]

    assert spec["replicas"]["type"] == "integer"
    assert spec["labels"]["additionalProperties"]["type"] == "string"
    assert set(spec) | {"fips", "tlsProfile", "imagePolicy"} == {
        *(row.path.split(".")[0] for row in pool_rows()),
        "config",
    }
    assert not {"fips", "tlsProfile", "imagePolicy"} & set(spec)
    assert spec["rollout"]["properties"]["resume"]["type"] == "string"
    platform: Any = platform_config_schema()
    stub = platform["properties"]["spec"]["properties"]["stub"]["properties"]
    assert stub["report"]["type"] == "string"
    assert set(platform["properties"]["spec"]["properties"]) == {
        row.path.split(".")[1] for row in platform_rows()
    }
