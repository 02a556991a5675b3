"""Valid values by default; a test changes the one thing it is about."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

from fairlead.agent.layout import Layout
from fairlead.agent.process import Finished
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import Boot, Inputs, find_inputs
from fairlead.sim.disk import Disk, Inode
from fairlead.sim.host import SimHost

if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.sim.host import Program

AKS = "/opt/azure/containers"
CONFIG_PATH = f"{AKS}/aks-node-controller-config.json"
NBC_PATH = f"{AKS}/aks-node-controller-nbc-cmd.sh"
SCRIPT_PATH = f"{AKS}/provision_start.sh"
POINTER_PATH = f"{AKS}/aks-node-controller-hotfix.json"
FEATURES_PATH = f"{AKS}/enabled_features.sh"
COMPONENTS_PATH = "/opt/azure/components.json"
STAGED_PATH = f"{AKS}/aks-node-controller-hotfix"
STATUS_PATH = "/var/log/azure/aks/provision.json"
SENTINEL_PATH = f"{AKS}/provision.complete"
RECORD_PATH = "/var/log/azure/aks-node-controller-record.jsonl"
EVENTS_PATH = "/var/log/azure/Microsoft.Azure.Extensions.CustomScript/events"

# What an image that AKS built has at least.
AKS_IMAGE = {SCRIPT_PATH: b"exit 0\n", COMPONENTS_PATH: b"{}"}

# What the built-in steps need at least. The certificate is not one; nothing here parses it.
BUILT_IN_CONFIG = {
    "version": "v1",
    "api_server_config": {"api_server_name": "api.example.test"},
    "bootstrapping_config": {"tls_bootstrapping_token": "abcdef.0123456789abcdef"},
    "kubernetes_ca_cert": (
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
    ),
}

VALID_CONFIG = {"version": "v1", "kubernetes_version": "1.34.0"}


def make_disk(files: dict[str, bytes], *, executable: tuple[str, ...] = ()) -> Disk:
    """A disk that holds these files, all durable."""
    disk = Disk()
    host = SimHost(disk)
    for path, content in files.items():
        host.make_directory(path.rpartition("/")[0])
        mode = 0o755 if path in executable else 0o600
        inode = Inode(stat.S_IFREG | mode, content)
        inode.synced = content
        disk.bind(path, inode)
    disk.sync_names()
    return disk


def aks_files(config: dict[str, Any] | bytes | None = None) -> dict[str, bytes]:
    """An AKS image with a bootstrap script, its components and a node config."""
    if config is None:
        config = VALID_CONFIG
    text = config if isinstance(config, bytes) else json.dumps(config).encode()
    return {**AKS_IMAGE, CONFIG_PATH: text}


def exit_with(code: int, output: bytes = b"") -> Program:
    """A program that prints this and ends with this code."""

    def program(_host: SimHost, _command: list[str], _environment: dict[str, str]) -> Finished:
        return Finished(code, output)

    return program


def make_sim_host(disk: Disk, *, stops_at: int | None = None) -> SimHost:
    """A simulated AKS machine with a bash that does nothing."""
    host = SimHost(disk, stops_at=stops_at)
    host.programs["/bin/bash"] = exit_with(0)
    return host


def make_run(host: Host, *, layout: str = "aks", run_id: str = "run-1") -> Run:
    return Run(host, Layout(layout, {}), run_id)


def make_boot(host: Host, *, layout: str = "aks", run_id: str = "run-1") -> Boot:
    """A boot with whatever inputs the host has."""
    run = make_run(host, layout=layout, run_id=run_id)
    return Boot(run, find_inputs(run) or Inputs("", ""))
