"""
Which files of a machine our steps write, and which its owner therefore may not.

Two authors of one file would take turns. Nothing here touches a machine: admission asks the same
question.
"""

from __future__ import annotations

from fairlead.agent.layout import PATHS
from fairlead.agent.steps.one_line import entry_field, one_line
from fairlead.contract.node_secrets import PULL_SECRET
from fairlead.contract.node_settings import SSH_KEYS, files_of, mirrors_of, usable_overrides
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.contract.node_config import NodeConfig
    from fairlead.contract.node_settings import PoolFile

# Not files of a disk: writing there has effects of its own.
KERNEL_DIRECTORIES = ("proc", "sys", "dev")

# Every name of ours that is not in the tables below holds this word.
OURS = "fairlead"

CONTAINERD_CONFIG = "/etc/containerd/config.toml"
KUBELET_CONFIG = "/etc/kubernetes/kubelet-config.json"
CA_FILE = "/etc/kubernetes/pki/ca.crt"
KUBECONFIG = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP_KUBECONFIG = "/etc/kubernetes/bootstrap-kubelet.conf"
# Certificate and key in one file, as the kubelet keeps its own.
CLIENT_CERTIFICATE = "/etc/kubernetes/pki/kubelet-client.pem"
SWAP_FILE = "/var/swapfile"
# Its name is the path that it is about, as systemd wants it.
SWAP_UNIT = "var-swapfile.swap"
SWAP_UNIT_FILE = f"/etc/systemd/system/{SWAP_UNIT}"
OTHER_STEPS = (
    CONTAINERD_CONFIG,
    KUBELET_CONFIG,
    CA_FILE,
    KUBECONFIG,
    BOOTSTRAP_KUBECONFIG,
    CLIENT_CERTIFICATE,
    SWAP_FILE,
    SWAP_UNIT_FILE,
)

# Written only if a config asks for them.
REGISTRY_HOSTS = "/etc/containerd/certs.d"
HOSTS_FILE = "hosts.toml"
# The home of root on every image that we support.
HOME = "/root"
KEYS_FILE = f"{HOME}/.ssh/authorized_keys2"
KUBELET_ROOT = "/var/lib/kubelet"
LOGINS_FILE = "config.json"

FLAGS_FIELD = "kubelet_config.kubelet_flags"
ROOT_FLAG = "--root-dir"


def pool_files(config: NodeConfig) -> list[PoolFile]:
    """Return the files of this config. Raises InputError for one that may not be written."""
    files = files_of(config)
    layouts = {path for paths in PATHS.values() for path in paths}
    taken = {*OTHER_STEPS, *layouts, *_asked_for(config)} if files else set()
    for file in files:
        if file.path.split("/")[1] in KERNEL_DIRECTORIES:
            raise InputError("is below /proc, /sys or /dev", field=file.field)
        if OURS in file.path or file.path in taken:
            raise InputError(
                "is written by the agent itself",
                field=file.field,
                hint="what it holds has settings of its own",
            )
    return files


def _asked_for(config: NodeConfig) -> set[str]:
    """Return the files that other steps write only if this config asks for them."""
    keys = {KEYS_FILE} if SSH_KEYS in config.settings else set()
    logins = {logins_file(config)} if PULL_SECRET in config.settings else set()
    sources = {*mirrors_of(config), *usable_overrides(config)[0]}
    return {*map(hosts_file, sources), *keys, *logins}


def hosts_file(source: str) -> str:
    """Return where containerd looks for the mirrors of a registry."""
    return f"{REGISTRY_HOSTS}/{source}/{HOSTS_FILE}"


def logins_file(config: NodeConfig) -> str:
    """Return where the kubelet looks for logins to registries."""
    given = config.mapping(FLAGS_FIELD).get(ROOT_FLAG)
    directory = given if isinstance(given, str) and given else KUBELET_ROOT
    field = entry_field(FLAGS_FIELD, ROOT_FLAG)
    if not one_line(directory, field).startswith("/"):
        raise InputError("not an absolute path", field=field)
    return f"{directory.rstrip('/')}/{LOGINS_FILE}"
