"""What would reach a machine bent, or as nothing, is refused with what to write instead."""

from typing import Any

import pytest

from fairlead.proposal.judge import judge
from fairlead.rollout.window import utc_only
from pool_documents import leaves_of, platform_document, pool_document


def sysctl(**fields: Any) -> dict[str, Any]:
    return {"config": [{"kind": "Sysctl", **fields}]}


def file(**fields: Any) -> dict[str, Any]:
    return {"config": [{"kind": "Files", "files": [{"path": "/a", **fields}]}]}


def mirrors(*places: Any) -> dict[str, Any]:
    listed = [{"source": "docker.io", "mirrors": list(places)}]
    return {"config": [{"kind": "Mirrors", "mirrors": listed}]}


def files(*paths: str, **fields: Any) -> dict[str, Any]:
    listed = [{"path": path, "content": "x", **fields} for path in paths]
    return {"config": [{"kind": "Files", "files": listed}]}


def containerd(**fields: Any) -> dict[str, Any]:
    return {"config": [{"kind": "ContainerdConfiguration", **fields}]}


# Taken, and then left out without a word: spec, field below spec, what is said and what to write
LEFT_OUT: list[tuple[dict[str, Any], str, str]] = [
    ({"config": [{"kind": "Files", "files": [
        {"path": "/a", "content": "x"}, {"path": "/a", "content": "y"}]}]},
     "config[0].files[1].path",
     "says something else of /a than spec.config[0].files[0].path (write one of the two)"),
    ({"config": [{"kind": "Mirrors", "mirrors": [
        {"source": "docker.io", "mirrors": ["https://a"]},
        {"source": "docker.io", "mirrors": ["https://b"]}]}]},
     "config[0].mirrors[1].source",
     "says something else of docker.io than spec.config[0].mirrors[0].source "
     "(write one of the two)"),
    (sysctl(settings={"net/ipv4/ip_forward": 1, "net.ipv4.ip_forward": 0}),
     "config[0].settings.net.ipv4.ip_forward",
     "says something else of net.ipv4.ip_forward than "
     "spec.config[0].settings.net/ipv4/ip_forward (write one of the two)"),
    (sysctl(text="vm.swappiness = 1\nvm.swappiness = 2\n"), "config[0].text",
     "says something else of vm.swappiness than spec.config[0].text (write one of the two)"),
    (sysctl(text="vm.swappiness ="), "config[0].text",
     "found no value for vm.swappiness, expected one (leave it out)"),
    (sysctl(settings={"vm.swappiness": " "}), "config[0].settings.vm.swappiness",
     "found no value for vm.swappiness, expected one (leave it out)"),
    (sysctl(settings={"vm.swappiness": "1\n2"}), "config[0].settings.vm.swappiness",
     "found 2 lines, expected one"),
    ({"taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"},
                 {"key": "gpu", "value": "b", "effect": "NoSchedule"}]}, "taints[1]",
     "says something else of the taint gpu:NoSchedule than spec.taints[0] (write one of the two)"),
    (containerd(settings={"disabled_plugins": []}), "config[0].settings.disabled_plugins",
     "is empty, and would reach no machine (leave it out: containerd has its own default then)"),
    (containerd(toml="[debug]\naddress = ''\n"), "config[0].toml.debug.address",
     "is empty, and would reach no machine (leave it out: containerd has its own default then)"),
    ({"config": [{"kind": "KubeletConfiguration", "apiVersion": "v1", "maxPods": 9}]},
     "config[0].apiVersion",
     "found the text 'v1', expected kubelet.config.k8s.io/v1beta1 (the file is written for it)"),
]  # fmt: skip

# Taken, and then no machine boots with it: spec, field below spec, what is said and what to write
UNBOOTABLE: list[tuple[dict[str, Any], str, str]] = [
    (files("/etc/containerd/config.toml"), "config[0].files[0].path",
     "is written by the agent itself (what it holds has settings of its own)"),
    (files("/etc/fairlead/x"), "config[0].files[0].path",
     "is written by the agent itself (what it holds has settings of its own)"),
    (files("/a", "/proc/sys/vm/swappiness"), "config[0].files[1].path",
     "is below /proc, /sys or /dev"),
    (files("/a", "/a/b"), "config[0].files[1].path", "cannot stand below /a, which is a file"),
    (files("/etc/"), "config[0].files[0].path", "not a whole path (expected /DIRECTORY/NAME)"),
    (files("/" + "a" * 256), "config[0].files[0].path",
     "found a name of 256 bytes in a path of 257 (a name has 255 bytes at most, a path 4095)"),
    ({**files("/root" + "/.ssh/authorized_keys2"), "sshKeys": ["ssh-ed25519 AAAA"]},
     "config[0].files[0].path",
     "is written by the agent itself (what it holds has settings of its own)"),
    (containerd(settings={"version": 4}), "config", "containerd: expected version 2 or 3"),
    (containerd(settings={"plugins": 5}), "config",
     "containerd: plugins is a table of this config"),
]  # fmt: skip

# spec, field below spec, what is said and what to write
BENT: list[tuple[dict[str, Any], str, str]] = [
    (sysctl(settings={"net.ipv4.ip_forward": True}), "config[0].settings.net.ipv4.ip_forward",
     "found true, which is no value of a kernel setting (write 1)"),
    (sysctl(settings={"vm.swappiness": 1e3}), "config[0].settings.vm.swappiness",
     "found the number 1000.0, expected text (write it in quotes as it is meant: '1000.0')"),
    (sysctl(settings={"vm.swappiness": [1]}), "config[0].settings.vm.swappiness",
     "found a list, expected text (write it in quotes)"),
    (sysctl(settings={"a.b": 1}, text="c.d = 1"), "config[0].settings",
     "cannot stand beside text (write one of the two)"),
    (file(content="x", mode=420), "config[0].files[0].mode",
     "found the number 420, expected text "
     "(write octal digits as text, like '0644'; 420 in decimals is '0644')"),
    (file(content=True), "config[0].files[0].content",
     "found true or false, expected text (write it in quotes)"),
    (file(content="x", contentBase64="eA=="), "config[0].files[0].content",
     "cannot stand beside contentBase64 (write one of the two)"),
    (file(content=12345678), "config[0].files[0].content",
     "found the number 12345678, expected text (write it in quotes as it is meant: '12345678')"),
    (sysctl(settings={"net.ipv4.conf.eth0.100.rp_filter": 1}),
     "config[0].settings.net.ipv4.conf.eth0.100.rp_filter",
     "names no setting of the interface eth0.100: each dot is a directory "
     "(write net.ipv4.conf.eth0/100.rp_filter)"),
    (sysctl(text="# slow\nnet.ipv6.neigh.eth0.7.app_solicit = 1\n"), "config[0].text",
     "names no setting of the interface eth0.7: each dot is a directory "
     "(write net.ipv6.neigh.eth0/7.app_solicit)"),
    (mirrors(7), "config[0].mirrors[0].mirrors[0]",
     "found the number 7, expected text (write it in quotes as it is meant: '7')"),
    (mirrors(), "config[0].mirrors[0].mirrors",
     "found nothing, expected a list of mirrors (leave the registry out)"),
    ({"taints": [{"key": "gpu", "value": True, "effect": "NoSchedule"}]}, "taints[0].value",
     "found true or false, expected text (write it in quotes)"),
    ({"replicas": None, "autoscaling": {}}, "autoscaling",
     "found nothing in it, expected min and max "
     "(write min and max, or leave it out and write replicas)"),
    ({"proxyImage": "   "}, "proxyImage",
     "holds white space around it, or a character that is not printable: '   ' (write it without)"),
    ({"proxyImage": "ha proxy"}, "proxyImage",
     "found the text 'ha proxy', expected the name of an image ([REGISTRY/]NAME[:TAG][@DIGEST])"),
    ({"imageBase": "the newest"}, "imageBase",
     "found the text 'the newest', expected the base of an image (like 202607.02)"),
    ({"imageBase": "banana"}, "imageBase",
     "found the text 'banana', expected the base of an image (like 202607.02)"),
    ({"proxyImage": "a:::b"}, "proxyImage",
     "found the text 'a:::b', expected the name of an image ([REGISTRY/]NAME[:TAG][@DIGEST])"),
    ({"release": {"version": "1.34.2", "digest": "banana"}}, "release.digest",
     "found the text 'banana', expected a digest "
     "(sha256: and hexadecimal digits, as a registry shows it)"),
    ({"proxy": {"http": "banana"}}, "proxy.http",
     "found the text 'banana', expected the address of a proxy (like http://proxy.example:3128)"),
    ({"proxy": {"https": "ftp://x"}}, "proxy.https",
     "found the text 'ftp://x', expected the address of a proxy (like http://proxy.example:3128)"),
    ({"proxy": {"http": "me:pass@p:3128"}}, "proxy.http",
     "found text, expected the address of a proxy (like http://proxy.example:3128)"),
    ({"endpoint": {"name": "::::"}}, "endpoint.name",
     "found the text '::::', expected the name of an API server "
     "(like api.example or api.example:6443)"),
    ({"endpoint": {"advertiseAddress": "banana"}}, "endpoint.advertiseAddress",
     "found the text 'banana', expected an address "
     "(like 10.0.0.4 or [fd00::4]; a name is for endpoint.name)"),
    ({"machineTemplate": {"diskGB": -1}}, "machineTemplate.diskGB",
     "found the number -1, expected a number above 0 (like 128)"),
    ({"machineTemplate": {"disk": {"size": 5}}}, "machineTemplate.disk",
     "found a mapping, expected text, a number, true or false "
     "(each field of a machine template is one value)"),
    ({"machineTemplate": {"zones": ["a"]}}, "machineTemplate.zones",
     "found a list, expected text, a number, true or false "
     "(each field of a machine template is one value)"),
    ({"machineTemplate": {"vmSize": ""}}, "machineTemplate.vmSize",
     "found nothing, expected a value (leave it out)"),
    ({"osStream": "ubuntu"}, "osStream",
     "found the text 'ubuntu', expected a stream (like ubuntu-24.04)"),
    ({"machineTemplate": {"vmSize": " "}}, "machineTemplate.vmSize",
     "holds white space around it, or a character that is not printable: ' ' (write it without)"),
    ({"machineTemplate": {"vm size": "m5"}}, "machineTemplate.vm size",
     "is no name of a machine-template field (like vmSize)"),
    ({"timeouts": {"drain": "0s", "join": "0s"}}, "timeouts.join",
     "found 0s, expected at least 1s (leave it out for the usual time)"),
    ({"timeouts": {"ready": "0m"}}, "timeouts.ready",
     "found 0s, expected at least 1s (leave it out for the usual time)"),
    ({"endpoint": {"name": "a", "advertiseAddress": "10.1.1.1"}}, "endpoint.advertiseAddress",
     "has no meaning beside endpoint.name, which machines use (write one of the two)"),
    ({"proxy": {"noProxy": [".svc"]}}, "proxy.noProxy",
     "has no meaning without proxy.http or proxy.https (leave it out)"),
    ({"release": {"version": "1.34.2", "digest": "a\x1b[31m"}}, "release.digest",
     "holds white space around it, or a character that is not printable: 'a\\x1b[31m' "
     "(write it without)"),
    ({"release": {"version": "v1.34.2"}}, "release.version",
     "found the text 'v1.34.2', expected a version (write 1.34.2)"),
    ({"release": {"version": "01.34.2"}}, "release.version",
     "found the text '01.34.2', expected a version (write 1.34.2)"),
    ({"release": {"version": "1.34.02-rc01"}}, "release.version",
     "found the text '1.34.02-rc01', expected a version (write 1.34.2-rc01)"),
    ({"release": {"version": "latest"}}, "release.version",
     "found the text 'latest', expected a version (expected MAJOR.MINOR.PATCH, like 1.34.2)"),
    ({"release": {"version": "banana"}}, "release.version",
     "found the text 'banana', expected a version (expected MAJOR.MINOR.PATCH, like 1.34.2)"),
    ({"release": {"version": "1.34"}}, "release.version",
     "found the text '1.34', expected a version (expected MAJOR.MINOR.PATCH, like 1.34.2)"),
    ({"release": {"version": "1.34." + "9" * 5_000}}, "release.version",
     "found text of 5005 characters, expected a version (expected MAJOR.MINOR.PATCH, like 1.34.2)"),
    ({"release": {"version": "1.20.0"}}, "release.version",
     "found 1.20.0, expected 1.27 or newer "
     "(older kubelets do not read where containerd is from their file)"),
    ({"release": {"version": "1.34.2", "allow": ["Everything"]}}, "release.allow",
     "found the text 'Everything', expected Downgrade or Skew"),
]  # fmt: skip


# A node finds no API server at these.
ODD_TEXTS = [
    ("name", "https://a"),
    ("name", "a:b"),
    ("name", "a:0"),
    ("advertiseAddress", "10.1.1.256"),
    ("advertiseAddress", "10.1.1"),
    ("advertiseAddress", "fd00::4"),
]


# spec, field below spec, what is said: values that no parser takes, in force or not
UNREADABLE: list[tuple[dict[str, Any], str, str]] = [
    (file(contentBase64="é"), "config[0].files[0].contentBase64",
     "is not base64: string argument should contain only ASCII characters"),
    (file(content="\ud800"), "config[0].files[0].content", "holds text that is not Unicode"),
    ({"description": "\ud800"}, "description", "holds text that is not Unicode"),
    (containerd(toml="a = 1979-05-27"), "config[0].toml",
     "a: found a date, expected a JSON value"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "field", "says"), UNREADABLE)
def test_a_value_that_cannot_be_read_is_refused_by_its_field(
    spec: dict[str, Any], field: str, says: str
) -> None:
    found = judge(pool_document(**spec), utc_only)

    assert [(one.field, str(one)) for one in found] == [(f"spec.{field}", says)]


@pytest.mark.parametrize(("spec", "field", "says"), LEFT_OUT)
def test_what_would_be_left_out_without_a_word_is_refused(
    spec: dict[str, Any], field: str, says: str
) -> None:
    found = judge(pool_document(**spec), utc_only)

    assert [(one.field, str(one)) for one in found] == [(f"spec.{field}", says)]


@pytest.mark.parametrize(("spec", "field", "says"), UNBOOTABLE)
def test_what_no_machine_would_boot_with_is_refused(
    spec: dict[str, Any], field: str, says: str
) -> None:
    found = judge(pool_document(**spec), utc_only)

    assert [(one.field, str(one)) for one in found] == [(f"spec.{field}", says)]


@pytest.mark.parametrize(
    "spec",
    [
        {**files("/etc/motd", "/etc/motd.d/a", "/etc/motd.d/b"), "sshKeys": ["ssh-ed25519 AAAA"]},
        files("/a", "/a"),
        sysctl(text="# ;\nvm.swappiness = 1\nvm/swappiness=1\n"),
        sysctl(settings={"net.ipv4.tcp_rmem": "4096\t87380  16777216\n"}),
        containerd(settings={"version": 2, "plugins": {"x": {}}, "debug": {"level": "info"}}),
    ],
)
def test_what_machines_take_is_admitted(spec: dict[str, Any]) -> None:
    assert judge(pool_document(**spec), utc_only) == ()


@pytest.mark.parametrize(("spec", "field", "says"), BENT)
def test_a_value_that_would_be_bent_is_refused_with_what_to_write(
    spec: dict[str, Any], field: str, says: str
) -> None:
    found = judge(pool_document(**spec), utc_only)

    assert [(one.field, str(one)) for one in found] == [(f"spec.{field}", says)]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"proxy": {"image": "\t"}}, "spec.proxy.image"),
        ({"controlPlaneImage": "cp image"}, "spec.controlPlaneImage"),
        ({"controlPlaneVersion": "stable"}, "spec.controlPlaneVersion"),
        ({"noProxy": [" .svc"]}, "spec.noProxy"),
    ],
)
def test_what_the_platform_writes_is_looked_at_as_well(spec: dict[str, Any], field: str) -> None:
    [complaint] = judge(platform_document(**spec), utc_only)

    assert complaint.field == field


@pytest.mark.parametrize(
    "spec",
    [
        {"imageBase": "202607.02"},
        {"proxyImage": "localhost:5000/edge/haproxy:3.0@sha256:cc"},
        {"release": {"version": "1.34.2", "digest": "sha256:" + "0f" * 32}},
        {"proxy": {"http": "http://me:pass@10.0.0.1:3128", "https": "socks5://[fd00::1]:1080"}},
        {"endpoint": {"name": "api.example:6443"}},
        {"endpoint": {"name": "[fd00::4]:6443"}},
        {"endpoint": {"advertiseAddress": "10.0.0.4"}},
        {"machineTemplate": {"vmSize": "m5.large", "diskGB": 80, "spot": True, "maxPrice": -1}},
        {"machineTemplate": {"vmSize": None}},
    ],
)
def test_what_means_something_is_taken(spec: dict[str, Any]) -> None:
    assert judge(pool_document(**spec), utc_only) == ()


@pytest.mark.parametrize("spec", [{field: text} for field, text in ODD_TEXTS])
def test_no_shape_takes_what_another_part_of_the_path_could_not_read(spec: dict[str, str]) -> None:
    [complaint] = judge(pool_document(endpoint=spec), utc_only)

    assert complaint.field.startswith("spec.endpoint.")


@pytest.mark.parametrize("version", ["1.34.2", "1.35.0-rc.1", "1.27.0"])
def test_a_version_is_taken(version: str) -> None:
    assert judge(pool_document(release={"version": version}), utc_only) == ()


def test_numbers_and_texts_of_kernel_settings_are_taken_as_they_are() -> None:
    spec = sysctl(settings={"vm.swappiness": 10, "net.ipv4.ip_local_port_range": "1024  65000"})

    assert judge(pool_document(**spec), utc_only) == ()
    assert judge(pool_document(**sysctl(text="net/ipv4/conf/eth0.100/rp_filter=1")), utc_only) == ()
    leaves = leaves_of(pool_document(**spec))
    assert leaves["config.sysctl.vm.swappiness"] == "10"
    assert leaves["config.sysctl.net.ipv4.ip_local_port_range"] == "1024 65000"


@pytest.mark.parametrize(
    "spec",
    [spec for spec, _, says in (*BENT, *LEFT_OUT, *UNBOOTABLE) if "Downgrade or Skew" not in says],
)
def test_what_is_in_force_from_before_goes_on(spec: dict[str, Any]) -> None:
    document = pool_document(**spec)
    paused = {**document, "spec": {**document["spec"], "paused": True}}

    assert judge(paused, utc_only, live=document) == ()
