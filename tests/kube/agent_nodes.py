"""
Directories that stand for nodes, and the agent that Jobs run on them.

A Job's pod calls the agent of its node in a chroot; here the very same words are given to the very
same agent, with the directory in the place of the chroot. No image, no kubelet, no systemd.
"""

import subprocess
from pathlib import Path

from fairlead.embedded.machines.directory import agent_command
from kube.job_nodes import Asked, Ended

DEADLINE_S = 120


class AgentNodes:
    """Every node below a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def run(self, asked: Asked) -> Ended:
        """Run the command of a Job's pod."""
        chroot, host, agent, *words = asked.command
        assert (chroot, host, agent) == ("chroot", "/host", "/usr/lib/fairlead/fairlead-node")
        root = self.directory / asked.node
        self._put(root, "/etc/hostname", f"{asked.node}\n".encode())
        self._put(root, words[words.index("--from") + 1], asked.document)
        ran = subprocess.run(
            [*agent_command(), *words, "--root", str(root)],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        return ran.returncode, ran.stderr[-500:]

    def read(self, node: str, path: str) -> str:
        return (self.directory / node / path.lstrip("/")).read_text()

    def _put(self, root: Path, path: str, content: bytes) -> None:
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
