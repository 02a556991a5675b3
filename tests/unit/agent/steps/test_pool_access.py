"""Keys of a pool log in, its pull secret pulls, and neither is left behind or told."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.host import RealHost
from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_secrets import secrets_of
from unit.agent.steps.machine import Machine, changes_of, make_config, run_all, words_of

KEYS = ["ssh-ed25519 AAAAone first@example.test", "ssh-rsa AAAAtwo"]
LOGIN = base64.b64encode(b"robot:pass-word-1").decode()
SECRET = {"auths": {"registry.example.test": {"auth": LOGIN}}}
# ~root, in two parts: no file of ours may name a place of the machine it was written on.
KEYS_FILE = "/root" + "/.ssh/authorized_keys2"
LOGINS_FILE = "/var/lib/kubelet/config.json"
SETTINGS: dict[str, Any] = {"sshKeys": KEYS, "pullSecret.content": SECRET}


def test_keys_and_logins_are_where_sshd_and_the_kubelet_look(tmp_path: Path) -> None:
    run_all(RealHost(str(tmp_path)), make_config(fairlead=SETTINGS))

    keys = tmp_path / KEYS_FILE[1:]
    assert keys.read_text() == (
        "# Written by fairlead-node: the keys of this pool.\n"
        "ssh-ed25519 AAAAone first@example.test\n"
        "ssh-rsa AAAAtwo\n"
    )
    logins = tmp_path / LOGINS_FILE[1:]
    assert json.loads(logins.read_text())["auths"] == SECRET["auths"]
    assert [file.stat().st_mode & 0o7777 for file in (keys, logins)] == [0o600, 0o600]


def test_a_second_run_changes_nothing_and_another_secret_restarts_nothing() -> None:
    machine = Machine.fresh()
    run_all(machine, make_config(fairlead=SETTINGS))
    second = run_all(machine, make_config(fairlead=SETTINGS))
    machine.started.clear()
    renewed = {"auths": {"registry.example.test": {"auth": "cm9ib3Q6bmV3"}}}

    third = run_all(machine, make_config(fairlead=SETTINGS | {"pullSecret.content": renewed}))

    assert changes_of(second) == []
    assert changes_of(third) == ["wrote /var/lib/kubelet/config.json"]
    assert [line for line in machine.commands() if "restart" in line] == []


def test_what_is_no_longer_wanted_goes_and_what_the_image_brought_stays(tmp_path: Path) -> None:
    run_all(RealHost(str(tmp_path)), make_config(fairlead=SETTINGS))

    changed = changes_of(run_all(RealHost(str(tmp_path)), make_config()))
    assert changed == [
        f"removed {KEYS_FILE}",
        f"removed {LOGINS_FILE}",
    ]

    brought = [tmp_path / KEYS_FILE[1:], tmp_path / LOGINS_FILE[1:]]
    for file in brought:
        file.write_text("brought by the image")
    assert changes_of(run_all(RealHost(str(tmp_path)), make_config())) == []
    assert [file.read_text() for file in brought] == ["brought by the image"] * 2


def test_logins_are_below_the_root_that_the_kubelet_was_given(tmp_path: Path) -> None:
    flags = {"kubelet_flags": {"--root-dir": "/mnt/kubelet/"}}

    run_all(RealHost(str(tmp_path)), make_config(kubelet_config=flags, fairlead=SETTINGS))

    assert (tmp_path / "mnt/kubelet/config.json").exists()


@pytest.mark.parametrize(
    "keys", ["ssh-ed25519 AAAA", ["AAAA"], [7], ["ssh-rsa AAAA\nssh-rsa BBBB"], ["\0 x"]]
)
def test_keys_that_cannot_be_used_cost_the_login_and_not_the_node(
    tmp_path: Path, keys: object
) -> None:
    settings = {"sshKeys": keys, "config.files./etc/motd": {"contentBase64": "", "mode": "0644"}}

    result = run_all(RealHost(str(tmp_path)), make_config(fairlead=settings))

    assert (result.error, words_of(result)["ssh-keys"]) == (None, "skipped")
    assert not (tmp_path / KEYS_FILE[1:]).exists()


@pytest.mark.parametrize("secret", ["text", {"auth": {}}, {"auths": []}])
def test_a_pull_secret_that_no_kubelet_reads_stops_the_boot_untold(
    tmp_path: Path, secret: object
) -> None:
    settings = {"pullSecret.content": secret}

    result = run_all(RealHost(str(tmp_path)), make_config(fairlead=settings))

    assert result.stopped_by == "pull-secret"
    assert str(result.error) == (
        "fairlead[pullSecret.content]: not the object of a Docker config file "
        '(expected {"auths": {REGISTRY: {"auth": ...}}})'
    )


@pytest.mark.parametrize("path", [KEYS_FILE, LOGINS_FILE])
def test_a_file_of_the_owner_is_not_written_over_by_turns(tmp_path: Path, path: str) -> None:
    file = {f"config.files.{path}": {"contentBase64": "aGVsbG8K", "mode": "0600"}}

    alone = run_all(RealHost(str(tmp_path)), make_config(fairlead=file))
    both = run_all(RealHost(str(tmp_path)), make_config(fairlead={**file, **SETTINGS}))

    assert alone.error is None
    assert (tmp_path / path[1:]).read_text() == "hello\n"
    assert both.stopped_by == "pool-files"


def test_a_login_and_its_password_are_secrets_and_its_registry_is_not() -> None:
    found = secrets_of(NodeConfig({}, SETTINGS))

    assert {LOGIN, "robot:pass-word-1", "pass-word-1"} <= set(found)
    assert "registry.example.test" not in found
