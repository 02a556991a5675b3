"""
A boot of a directory machine whose check of signed metadata has ended well, as a real process.

    python fixed_boot.py ROOT VERSION LENGTH SHA256 [kill|stop N]

With `kill N` the process of the fix path ends at the N-th operation of its host, with `stop N` it
stands still there for ever.
"""

import os
import signal
import sys
from typing import Any

from fairlead import __version__
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.host import RealHost
from fairlead.agent.layout import Layout
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import Boot, Inputs
from fairlead.trust.metadata import Package
from fairlead.trust.seen import Seen
from fairlead.trust.verify import Verified

COUNTED = (
    "append_file", "fetch", "file_mode", "list_directory", "make_directory", "read_file", "remove",
    "rename", "run", "sync_directory", "write_file",
)  # fmt: skip


class Allowed:
    """What signed targets say, without their signatures."""

    def __init__(self, version: str, length: str, sha256: str) -> None:
        described = {
            "length": int(length),
            "hashes": {"sha256": sha256},
            "custom": {"base": "", "version": version, "format": "deb"},
        }
        path = f"apt/pool/fairlead-node-hotfix_{version}_all.deb"
        self.packages = [Package(path, described)]
        self.revoked: list[str] = []


class DyingHost(RealHost):
    """Its child is killed right before the operation whose turn it is."""

    remaining = int(sys.argv[6]) if len(sys.argv) > 6 else 0
    is_child = False

    def __getattribute__(self, name: str) -> Any:
        if name in COUNTED and DyingHost.is_child:
            DyingHost.remaining -= 1
            if DyingHost.remaining == 0:
                how = signal.SIGKILL if sys.argv[5] == "kill" else signal.SIGSTOP
                os.kill(os.getpid(), how)
        return super().__getattribute__(name)


def note_child() -> None:
    # Not by its number: in a process namespace it may have the parent's.
    DyingHost.is_child = True


def main() -> int:
    os.register_at_fork(after_in_child=note_child)
    root, version, length, sha256 = sys.argv[1:5]
    host = DyingHost(root)
    layout = Layout("aks", {})
    boot = Boot(Run(host, layout, "run-1"), Inputs(layout.node_config, ""))
    boot.program_flags = [f"--root={root}", "--layout=aks"]
    boot.verified = Verified(Allowed(version, length, sha256), Seen())  # type: ignore[arg-type]
    return run_boot(boot, BOOT_STAGES, __version__)


if __name__ == "__main__":
    sys.exit(main())
