"""`fairlead userdata` as people call it: files in, documents out, errors by field."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead import __version__
from fairlead.cli.main import run_command
from shared_cases import REPOSITORY

CONFIG = '{"version": "v1", "vm_size": "Standard_D2"}'
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "node-config.json"
    path.write_text(CONFIG)
    return path


def run(*words: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fairlead", *map(str, words)]
    environment = {"PYTHONPATH": str(REPOSITORY / "src")}
    return subprocess.run(
        command, env=environment, input=stdin, capture_output=True, timeout=60, check=False
    )


def test_render_writes_a_private_file_that_inspect_understands(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "user-data"

    words = ["userdata", "render", "--config", str(config), "--format", "boothook"]
    assert run_command([*words, "--feature", "A=1", "--output", str(output)]) == 0
    warnings = capsys.readouterr()
    assert run_command(["userdata", "inspect", str(output)]) == 0

    assert output.stat().st_mode & 0o777 == 0o600
    assert warnings.out == ""
    assert warnings.err == (
        "fairlead: warning: api_server_config.api_server_name: required, and not set\n"
    )
    shown = capsys.readouterr().out
    assert "/etc/fairlead/node-config.json" in shown
    assert "/etc/fairlead/features.env" in shown
    assert "understood    2  version, vm_size" in shown
    assert "problems: none known" in shown


def test_the_example_is_rendered_for_a_plain_image_without_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["userdata", "render", "--config", str(REPOSITORY / "examples" / "node-config.json")]
    words += ["--format", "boothook", "--output", str(tmp_path / "user-data")]

    assert run_command(words) == 0
    assert capsys.readouterr().err == ""

    assert run_command([*words, "--layout", "aks"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "fairlead: warning: auth_config.subscription_id: required, and not set",
        "fairlead: warning: cluster_config.resource_group: required, and not set",
        "fairlead: warning: cluster_config.location: required, and not set",
        "fairlead: warning: cluster_config.cluster_network_config.vnet_name: required, and not set",
        "fairlead: warning: cluster_config.cluster_network_config.route_table: required, and not "
        "set",
    ]


def test_an_existing_file_becomes_private(config: Path, tmp_path: Path) -> None:
    output = tmp_path / "user-data"
    output.write_text("old")
    output.chmod(0o644)

    words = ["userdata", "render", "--config", str(config), "--format", "ignition"]
    assert run_command([*words, "--output", str(output)]) == 0

    assert output.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node-config.json", "user-data"]


def test_a_link_stays_and_what_it_leads_to_becomes_private(config: Path, tmp_path: Path) -> None:
    output, link = tmp_path / "user-data", tmp_path / "link"
    output.write_text("old")
    output.chmod(0o644)
    link.symlink_to(output)

    words = ["userdata", "render", "--config", str(config), "--format", "ignition"]
    assert run_command([*words, "--output", str(link)]) == 0

    assert link.readlink() == output
    assert json.loads(output.read_bytes())["ignition"]
    assert output.stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_written_to_and_stays_a_pipe(config: Path, tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    words = ["userdata", "render", "--config", str(config), "--format", "ignition"]
    # Open at both ends before the command comes, so that it need not wait for a reader.
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)

    for output in (pipe, link):
        assert run_command([*words, "--output", str(output)]) == 0
        assert json.loads(os.read(reader, 65536))["ignition"]

    os.close(reader)
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_an_output_that_cannot_be_written_is_named(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "nowhere" / "user-data"
    words = ["userdata", "render", "--config", str(config), "--format", "ignition"]

    assert run_command([*words, "--output", str(output)]) != 0

    assert f"fairlead: {output}: there is no such file or directory\n" in capsys.readouterr().err


def test_the_bytes_of_the_config_travel_as_they_are(config: Path) -> None:
    found = run("userdata", "render", "--config", config, "--format", "ignition")

    source = json.loads(found.stdout)["storage"]["files"][0]["contents"]["source"]
    assert base64.b64decode(source.removeprefix("data:;base64,")) == CONFIG.encode()


def test_render_and_inspect_work_as_a_pipe(config: Path) -> None:
    words = ("--format", "boothook", "--cloud", "azure")
    rendered = run("userdata", "render", "--config", "-", *words, stdin=CONFIG.encode())
    inspected = run("userdata", "inspect", "-", "--json", stdin=rendered.stdout)

    found = json.loads(inspected.stdout)
    assert found["wrappings"] == ["base64"]
    assert [problem["code"] for problem in found["problems"]] == ["base64"]
    assert found["problems"][0]["effects"]["22.4"] == (
        "NoCloud: nothing runs, and the status is `done`"
    )
    assert found["receipt"]["understood"]["count"] == 2


def test_fetch_delivery_needs_all_its_parts_and_shows_no_token(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CA)
    (tmp_path / "token").write_text("c2VjcmV0LXRva2Vu\n")
    words = ("userdata", "render", "--format", "boothook", "--fetch")

    missing = run(*words, "--endpoint", "https://api.example.test/node")
    rendered = run(
        *words, "--endpoint", "https://api.example.test/node",
        "--ca", tmp_path / "ca.pem", "--token-file", tmp_path / "token",
    )  # fmt: skip
    inspected = run("userdata", "inspect", "-", stdin=rendered.stdout)

    assert (missing.returncode, missing.stderr) == (
        2,
        b"fairlead: --fetch needs --ca, --token-file too\n",
    )
    assert b"boot document: fetches from https://api.example.test/node" in inspected.stdout
    assert b"c2VjcmV0" not in inspected.stdout + rendered.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"vm_size": "a\\u0000"}', b"fairlead: vm_size: holds a NUL byte"),
        (b'{"vm_size": "a\0"}', b"fairlead: vm_size: holds a NUL byte"),
        (b"nonsense", b"fairlead: -: not JSON: found 'n' at character 0"),
        (b"[]", b"fairlead: -: a node config must be a JSON object"),
    ],
)
def test_an_unusable_config_is_an_error_by_field(text: bytes, message: bytes) -> None:
    found = run("userdata", "render", "--config", "-", "--format", "boothook", stdin=text)

    assert found.returncode == 2
    assert found.stderr.startswith(message)
    assert found.stdout == b""


def test_a_document_that_is_too_large_names_size_cap_and_fields(tmp_path: Path) -> None:
    import random

    text = random.Random(1).randbytes(40_000).hex()
    config = json.dumps({"version": "v1", "kubernetes_ca_cert": text}).encode()

    words = ("--format", "boothook", "--cloud", "aws")
    found = run("userdata", "render", "--config", "-", *words, stdin=config)

    assert found.returncode == 2
    assert b"aws takes at most 16384; the largest fields: kubernetes_ca_cert 80000 bytes" in (
        found.stderr
    )


def test_a_bad_feature_is_left_out_with_a_warning(config: Path) -> None:
    words = ("userdata", "render", "--config", config, "--format", "boothook")

    with_bad = run(*words, "--feature", "9X=1")

    assert with_bad.stdout == run(*words).stdout
    assert b"warning: --feature '9X=1' is not KEY=VALUE on one line, left out" in with_bad.stderr


def test_features_of_the_config_are_written_and_bad_ones_left_out_with_a_warning() -> None:
    words = ("userdata", "render", "--config", "-", "--format", "cloud-config")
    config = b'{"version": "v1", "enabled_features": {"A": "1", "9X": "1"}}'

    found = run(*words, stdin=config)

    assert found.returncode == 0
    assert b"    QT0xCg==\n" in found.stdout  # A=1
    assert b"warning: enabled_features '9X' is not KEY=VALUE on one line, left out" in found.stderr


def test_a_missing_file_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    found = run("userdata", "inspect", tmp_path / "none")

    assert found.returncode == 2
    told = f"fairlead: {tmp_path}/none: there is no such file or directory\n"
    assert found.stderr == told.encode()


def test_help_shows_an_example_and_version_the_version() -> None:
    assert b"fairlead userdata render --config node-config.json" in (
        run("userdata", "render", "--help").stdout
    )
    assert b"userdata" in run("--help").stdout
    assert run("--version").stdout == f"{__version__}\n".encode()
    assert run("userdata", "cse-command", "--layout", "aks").stdout == (
        b"/opt/azure/containers/aks-node-controller provision-wait\n"
    )
    assert run().returncode == 2
