"""
Files that the pool's owner wants on every machine.

A file is never taken away: what it replaced is gone, and a machine whose pool wants other files
is another machine. What the agent and the other steps write is not the owner's to write: two
authors of one file would take turns.
"""

from __future__ import annotations

from fairlead.agent.layout import PATHS
from fairlead.agent.steps import containerd_config
from fairlead.agent.steps.kernel import swap
from fairlead.agent.steps.kubelet import config as kubelet_config
from fairlead.agent.steps.kubelet import kubeconfig
from fairlead.agent.steps.pool_access import KEYS_FILE, logins_file
from fairlead.agent.steps.registry_mirrors import mirror_files
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.write import apply_file
from fairlead.contract.node_secrets import PULL_SECRET
from fairlead.contract.node_settings import SSH_KEYS, files_of
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig
    from fairlead.contract.node_settings import PoolFile

# Not files of a disk: writing there has effects of its own.
KERNEL_DIRECTORIES = ("proc", "sys", "dev")

# Every name of ours that is not in the tables below holds this word.
OURS = "fairlead"

OTHER_STEPS = (
    containerd_config.CONFIG_FILE,
    kubelet_config.CONFIG_FILE,
    kubelet_config.CA_FILE,
    kubeconfig.KUBECONFIG,
    kubeconfig.BOOTSTRAP_KUBECONFIG,
    kubeconfig.CLIENT_CERTIFICATE,
    swap.SWAP_FILE,
    swap.UNIT_FILE,
)


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
    return {*mirror_files(config), *keys, *logins}


def apply_pool_files(host: Host, config: NodeConfig) -> StepOutcome:
    """Have every file of this config, with exactly its content and mode."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    for file in pool_files(config):
        apply_file(host, file.path, file.content, file.mode, outcome)
    return outcome
