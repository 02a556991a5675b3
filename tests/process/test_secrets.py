"""Secrets of the input appear in no artefact of a boot, and in no file that others may read."""

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from builders import BUILT_IN_CONFIG
from process.agent_process import make_aks_node, make_plain_node, run_agent

# One value per place where the contract carries a secret; each must be greppable.
SECRETS = {
    "service principal": "sp-secret-Ww9!'\"$x",
    "bootstrap token": "abcdef.0123456789abcdef",
    "kubelet key": "a3ViZWxldC1rZXktc2VjcmV0LWE=",
    "realm password": "realm-pass word-%n",
    "proxy password": "proxy-pass-77",
    "registry login": "cm9ib3Q6cmVnaXN0cnktcGFzcy04OA==",
    "registry password": "registry-pass-88",
}

CONFIG: dict[str, Any] = {
    **BUILT_IN_CONFIG,
    "auth_config": {
        "service_principal_id": "sp-id",
        "service_principal_secret": SECRETS["service principal"],
    },
    "bootstrapping_config": {"tls_bootstrapping_token": SECRETS["bootstrap token"]},
    "kubelet_config": {"kubelet_client_key": SECRETS["kubelet key"]},
    "custom_search_domain_config": {"realm_password": SECRETS["realm password"]},
    "http_proxy_config": {"http_proxy": f"http://user:{SECRETS['proxy password']}@proxy:3128/"},
    "fairlead": {
        "pullSecret.content": {
            "auths": {
                "registry.example.test": {
                    "auth": SECRETS["registry login"],
                    "password": SECRETS["registry password"],
                }
            }
        }
    },
}

# A script that gives away all it can: its environment, its trace, and what `ps` shows.
LEAKY_SCRIPT = """\
set -x
env
cat "$FAIRLEAD_TEST_CONFIG"
cat /proc/[0-9]*/cmdline | tr '\\0' ' ' > "$FAIRLEAD_TEST_PS"
echo "$SERVICE_PRINCIPAL_FILE_CONTENT $KUBELET_CLIENT_CONTENT" >&2
exit 3
"""


def assert_no_secret_in(text: str, where: str) -> None:
    for name, value in SECRETS.items():
        assert value not in text, f"{name} in {where}"
        # Inside JSON the same value has its quotes escaped.
        assert json.dumps(value)[1:-1] not in text, f"{name} in {where}"


def assert_artefacts_are_clean(root: Path, found: subprocess.CompletedProcess[str]) -> None:
    artefacts = [path for path in (root / "var/log").rglob("*") if path.is_file()]
    assert len(artefacts) >= 4, artefacts
    for path in artefacts:
        assert_no_secret_in(path.read_text(), str(path))
    assert_no_secret_in(found.stdout, "stdout")
    assert_no_secret_in(found.stderr, "stderr")


@pytest.mark.parametrize("with_nbc", [False, True])
def test_a_script_that_prints_every_secret_leaks_none(tmp_path: Path, with_nbc: bool) -> None:
    root = make_aks_node(tmp_path / "node", CONFIG, LEAKY_SCRIPT)
    config = root / "opt/azure/containers/aks-node-controller-config.json"
    shown_by_ps = tmp_path / "ps"
    if with_nbc:
        nbc = root / "opt/azure/containers/aks-node-controller-nbc-cmd.sh"
        token = SECRETS["bootstrap token"]
        nbc.write_text(
            f'echo TLS_BOOTSTRAP_TOKEN="{token}" {token}\n'
            f'TLS_BOOTSTRAP_TOKEN="{token}" true\nexit 3\n'
        )

    found = run_agent(
        "boot", "--root", str(root),
        FAIRLEAD_TEST_CONFIG=str(config), FAIRLEAD_TEST_PS=str(shown_by_ps),
    )  # fmt: skip

    assert found.returncode == 3
    assert "[secret]" in found.stderr, "the script did print secrets"
    assert_artefacts_are_clean(root, found)
    if not with_nbc:
        assert "provision_start.sh" in shown_by_ps.read_text()
        assert_no_secret_in(shown_by_ps.read_text(), "ps output")


def test_built_in_steps_keep_secrets_in_private_files_only(tmp_path: Path) -> None:
    root = make_plain_node(tmp_path, CONFIG)
    config = root / "etc/fairlead/node-config.json"

    found = run_agent("boot", "--root", str(root))

    assert found.returncode == 0, found.stderr
    assert_artefacts_are_clean(root, found)
    for path in root.rglob("*"):
        if path.is_file() and path != config and stat.S_IMODE(path.stat().st_mode) & 0o077:
            assert_no_secret_in(path.read_text(), str(path))


def test_a_config_that_cannot_be_parsed_is_not_quoted_in_the_error(tmp_path: Path) -> None:
    root = make_aks_node(tmp_path, {})
    config = root / "opt/azure/containers/aks-node-controller-config.json"
    broken = json.dumps(CONFIG).replace('"version": "v1"', '"version": abc')
    config.write_text(broken)

    found = run_agent("boot", "--root", str(root))

    assert found.returncode == 1
    assert_artefacts_are_clean(root, found)


def test_a_secret_of_the_wrong_type_is_not_quoted_either(tmp_path: Path) -> None:
    secret = SECRETS["bootstrap token"]
    config = {"version": "v1", "bootstrapping_config": {"tls_bootstrapping_token": [secret]}}
    root = make_aks_node(tmp_path, config)

    found = run_agent("boot", "--root", str(root))

    assert found.returncode == 0
    assert "bootstrapping_config.tls_bootstrapping_token" in found.stderr
    assert_artefacts_are_clean(root, found)


def test_the_test_would_see_a_leak() -> None:
    with pytest.raises(AssertionError, match="bootstrap token in here"):
        assert_no_secret_in(f"x {SECRETS['bootstrap token']} y", "here")
