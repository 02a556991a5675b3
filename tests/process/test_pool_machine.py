"""The agent as a real process on a machine of a pool: what its owner configured is there after."""

import json
from pathlib import Path

import pytest

from builders import BUILT_IN_CONFIG
from process.agent_process import make_aks_node, make_plain_node, run_agent

SETTINGS = {
    "config.files./etc/motd": {"contentBase64": "aGVsbG8K", "mode": "0640"},
    "config.sysctl.vm.swappiness": "10",
    "config.mirrors.docker.io": ["mirror.example.test", "http://cache.example.test:5000"],
    "config.containerd.debug": {"level": "warn"},
    "imageBase": "ubuntu-24.04",
}
CONFIG = {**BUILT_IN_CONFIG, "fairlead": SETTINGS}


def test_a_machine_of_a_pool_has_what_its_owner_configured(tmp_path: Path) -> None:
    root = make_plain_node(tmp_path, CONFIG)

    found = run_agent("boot", "--root", str(root))

    assert found.returncode == 0, found.stderr
    assert (root / "etc/motd").read_text() == "hello\n"
    assert (root / "etc/motd").stat().st_mode & 0o7777 == 0o640
    assert "vm.swappiness = 10\n" in (root / "etc/sysctl.d/60-fairlead.conf").read_text()
    assert '[debug]\nlevel = "warn"\n' in (root / "etc/containerd/config.toml").read_text()
    hosts = (root / "etc/containerd/certs.d/docker.io/hosts.toml").read_text()
    assert hosts.index("https://mirror.example.test") < hosts.index("http://cache.example.test")
    report = json.loads(run_agent("report", "--root", str(root), "--json").stdout)
    assert report["facts"]["receipt"]["ignored"] == {
        "count": 1,
        "paths": ["fairlead[imageBase]"],
    }


@pytest.mark.parametrize("path", ["/etc/../evil", "/etc/fairlead/node-config.json"])
def test_a_file_that_must_not_be_written_stops_the_boot_and_is_named(
    tmp_path: Path, path: str
) -> None:
    settings = {f"config.files.{path}": {"contentBase64": "aGVsbG8K", "mode": "0644"}}
    root = make_plain_node(tmp_path, {**BUILT_IN_CONFIG, "fairlead": settings})

    found = run_agent("boot", "--root", str(root))

    status = json.loads((root / "var/log/fairlead/provision.json").read_text())
    assert (found.returncode, status["ExitCode"]) == (241, "241")
    assert status["Error"].startswith("step pool-files: fairlead[config.files./etc/")
    assert not (root / "evil").exists()


def test_an_image_with_scripts_says_that_it_ignored_the_pool(tmp_path: Path) -> None:
    root = make_aks_node(tmp_path, {"version": "v1", "fairlead": SETTINGS})

    found = run_agent("boot", "--root", str(root))

    report = json.loads(run_agent("report", "--root", str(root), "--json").stdout)
    assert found.returncode == 0, found.stderr
    assert report["facts"]["receipt"]["ignored"] == {"count": 1, "paths": ["fairlead"]}
    assert not (root / "etc/motd").exists()
