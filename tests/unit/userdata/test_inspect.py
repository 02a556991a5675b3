"""An inspection finds what is inside any user data, and what each cloud-init makes of it."""

import base64
import gzip
import zlib

import pytest

from fairlead.contract.boot_document import BootDocument
from fairlead.userdata.delivery import Fetch, Inline
from fairlead.userdata.inspect import Inspection, inspect_user_data
from fairlead.userdata.render import FORMATS, Target, render_user_data

CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0", "futureField": 1}'
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CONFIG_PATH = "/etc/fairlead/node-config.json"

SILENT = "nothing runs, and the status is `done`"
LOUD = "nothing runs; the status is degraded, exit code 2"

HOOK = """\
#cloud-boothook
#!/bin/sh
exec >>/var/log/hook.log
timeout 5 true
"""


def codes(inspection: Inspection) -> list[str]:
    return [problem.code for problem in inspection.problems]


def codes_of_hook(text: str) -> list[str]:
    return [code for code in codes(inspect_user_data(text.encode())) if code != "no-config"]


def codes_of_config(text: str) -> list[str]:
    found = codes(inspect_user_data(("#cloud-config\n" + text).encode()))
    return [code for code in found if code != "no-config"]


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("size", [10, 5000])
def test_our_own_documents_give_back_the_config_and_its_receipt(
    format_name: str, size: int
) -> None:
    config = CONFIG + b" " * size

    inspection = inspect_user_data(render_user_data(Inline(config), Target(format_name)))

    assert [(file.path, file.content) for file in inspection.files] == [(CONFIG_PATH, config)]
    assert inspection.receipt is not None
    assert inspection.receipt["ignored"] == {"count": 1, "paths": ["futureField"]}
    assert inspection.config_problems == [
        "api_server_config.api_server_name: required, and not set"
    ]


def test_a_config_for_an_aks_image_is_asked_for_the_fields_that_its_scripts_need() -> None:
    target = Target("boothook", layout="aks")

    inspection = inspect_user_data(render_user_data(Inline(CONFIG), target))

    assert "cluster_config.location: required, and not set" in inspection.config_problems


def test_our_own_boothook_has_no_known_problem() -> None:
    inspection = inspect_user_data(render_user_data(Inline(CONFIG), Target("boothook")))

    assert codes(inspection) == []
    assert [(part.kind, part.name) for part in inspection.parts] == [
        ("text/cloud-boothook", "boothook.sh"),
        ("text/cloud-config", "cloud-config.yaml"),
    ]


def test_a_fetch_document_shows_where_it_asks_and_not_with_what() -> None:
    delivery = Fetch(BootDocument("https://api.example.test/node", CA, "c2VjcmV0"))

    inspection = inspect_user_data(render_user_data(delivery, Target("boothook")))

    assert inspection.endpoint == "https://api.example.test/node"
    assert codes(inspection) == []


def test_whole_document_base64_runs_nothing_on_nocloud_and_only_22_4_is_silent_about_it() -> None:
    inspection = inspect_user_data(render_user_data(Inline(CONFIG), Target("boothook", "azure")))

    assert inspection.wrappings == ("base64",)
    assert inspection.receipt is not None
    assert [(problem.code, problem.effects) for problem in inspection.problems] == [
        (
            "base64",
            {"22.4": f"NoCloud: {SILENT}", "25.1": f"NoCloud: {LOUD}", "26.2": f"NoCloud: {LOUD}"},
        )
    ]


def test_wrappings_are_named_from_the_outside_in() -> None:
    document = render_user_data(Inline(CONFIG), Target("boothook"))

    zipped = inspect_user_data(gzip.compress(document))
    both = inspect_user_data(base64.encodebytes(gzip.compress(document)))
    other = inspect_user_data(zlib.compress(document))

    assert (zipped.wrappings, codes(zipped)) == (("gzip",), [])
    assert (both.wrappings, codes(both)) == (("base64", "gzip"), ["base64"])
    assert (other.wrappings, codes(other)) == (("zlib",), ["zlib"])
    assert zipped.receipt == both.receipt == other.receipt != None  # noqa: E711


def test_a_document_that_cloud_init_does_not_know_runs_nothing() -> None:
    inspection = inspect_user_data(b"hello\n")

    assert inspection.kind == "text/x-not-multipart"
    assert inspection.problems[0].effects == {"22.4": SILENT, "25.1": LOUD, "26.2": LOUD}
    assert codes(inspection) == ["unknown-document", "no-config"]


def test_damaged_gzip_is_told() -> None:
    cut = gzip.compress(render_user_data(Inline(CONFIG), Target("boothook")))[:-40]

    assert "damaged" in codes(inspect_user_data(cut))


def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(1 << 20)
    data = b"".join(bomb.compress(block) for _ in range(200)) + bomb.flush()

    inspection = inspect_user_data(data)

    assert codes(inspection)[0] == "damaged"
    assert len(inspection.parts[0].content) <= 64 << 20


def test_a_missing_closing_boundary_is_an_error_in_every_version() -> None:
    document = render_user_data(Inline(CONFIG), Target("boothook"))
    cut = document[: document.rindex(b"--==fairlead")]

    inspection = inspect_user_data(cut)

    effect = "parts run; the status is error, exit code 1"
    assert [(problem.code, problem.effects) for problem in inspection.problems] == [
        ("no-closing-boundary", {"22.4": effect, "25.1": effect, "26.2": effect})
    ]


@pytest.mark.parametrize(
    "hook",
    [
        "## template: jinja\n#cloud-boothook\n#!/bin/sh\n",
        "#cloud-boothook\n## template: jinja\n#!/bin/sh\n",
    ],
)
def test_a_jinja_hook_does_not_run(hook: str) -> None:
    assert "jinja-hook" in codes_of_hook(hook)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("systemctl start --no-block a.service", []),
        ("systemctl --no-block start a.service", []),
        ("systemctl start a.service", ["blocking-start"]),
        ("timeout 5 systemctl restart a", ["blocking-start"]),
        ("# systemctl start a.service", []),
        ("cat >/run/x <<'EOF'\nsystemctl start a\nEOF", []),
        ("systemctl enable a.service", ["enable-only"]),
        ("systemctl enable --now a.service", []),
        (f"echo x > {CONFIG_PATH}", ["hook-writes-in-place"]),
        (f"echo x > {CONFIG_PATH}.tmp; mv {CONFIG_PATH}.tmp {CONFIG_PATH}", []),
    ],
)
def test_dangers_of_a_hook(line: str, expected: list[str]) -> None:
    assert codes_of_hook(HOOK + line + "\n") == expected


def test_a_hook_without_timeout_and_log() -> None:
    inspection = inspect_user_data(b"#cloud-boothook\n#!/bin/sh\ntrue\n")

    assert codes(inspection) == ["no-timeout", "silent-hook", "no-config"]
    assert inspection.problems[1].effects == {"22.4": "what it prints is lost"}


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("DefaultDependencies=no", []),
        ("DefaultDependencies=no\nAfter=local-fs.target cloud-init.service",
         ["after-cloud-init-service"]),
        ("DefaultDependencies=no\nAfter=network-online.target", ["after-network-online"]),
        ("Description=x", ["default-dependencies"]),
    ],
)  # fmt: skip
def test_orderings_of_a_unit_that_a_hook_writes(unit: str, expected: list[str]) -> None:
    text = (
        f"cat >/etc/systemd/system/a.service <<EOF\n[Unit]\n{unit}\n[Service]\nType=oneshot\nEOF\n"
    )

    assert codes_of_hook(HOOK + text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}\n", []),
        ("runcmd:\n- [ls]\n", []),
        ('{"runcmd": [], "nonsense": 1}', ["unknown-key"]),
        ("write_file:\n- path: /a\n", ["unknown-key"]),
        ("runcmd:\n\t- ls\n", ["broken-yaml"]),
        ("runcmd:\n- ls\nthis is not a key\n", ["broken-yaml"]),
        (f"write_files:\n- path: {CONFIG_PATH}\n  permissions: '0600'\n", ["write-in-place"]),
        (f"write_files:\n- path: {CONFIG_PATH}\n", ["write-in-place", "readable-secret"]),
        (f"write_files:\n  - permissions: '0600'\n    defer: true\n    path: {CONFIG_PATH}\n",
         ["write-in-place", "late-config"]),
        ("write_files:\n- path: /a\n  content: |\n" + "    aaaa\n" * 15000, ["large-yaml"]),
    ],
)  # fmt: skip
def test_problems_of_a_cloud_config(text: str, expected: list[str]) -> None:
    assert codes_of_config(text) == expected


def test_a_config_is_found_in_the_hook_of_another_tool() -> None:
    body = base64.b64encode(CONFIG).decode()
    path = "/opt/azure/containers/aks-node-controller-config.json"
    hook = HOOK + f"cat <<'EOF' | base64 -d >{path}.tmp && mv {path}.tmp {path}\n{body}\nEOF\n"

    inspection = inspect_user_data(hook.encode())

    assert inspection.receipt is not None
    assert inspection.files[0].content == CONFIG


def test_clouds_that_would_refuse_it_are_named() -> None:
    config = b'{"version": "v1", "x": "' + base64.b64encode(bytes(range(256)) * 120) + b'"}'

    document = render_user_data(Inline(config), Target("cloud-config"))
    large = document + b"#" * 70_000

    assert inspect_user_data(large).too_large_for == ["azure", "aws", "openstack"]
    assert inspect_user_data(base64.b64encode(large)).too_large_for == [
        "azure",
        "aws",
        "openstack",
    ]


@pytest.mark.parametrize(
    "config",
    [b"{", b'{"a": 1} x', b'{"ignition": {"version": "2.2.0"}}',
     b'{"ignition": {"version": "3.3.0"}, "storage": {"files": [{"path": "etc/a"}]}}'],
)  # fmt: skip
def test_what_ignition_would_refuse(config: bytes) -> None:
    inspection = inspect_user_data(config)

    assert {"ignition": "the machine does not finish its first boot"} in [
        problem.effects for problem in inspection.problems
    ]
