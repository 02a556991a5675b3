"""
Files that the pool's owner wants on every machine.

A file is never taken away: what it replaced is gone, and a machine whose pool wants other files
is another machine. What the agent and the other steps write
is not the owner's to write: taken_files.py.
"""

from __future__ import annotations

from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.taken_files import pool_files
from fairlead.agent.steps.write import apply_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig


def apply_pool_files(host: Host, config: NodeConfig) -> StepOutcome:
    """Have every file of this config, with exactly its content and mode."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    for file in pool_files(config):
        apply_file(host, file.path, file.content, file.mode, outcome)
    return outcome
