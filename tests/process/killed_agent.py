"""
The agent as a real process that ends at the N-th operation of its host, by SIGKILL or a defect.

    python killed_agent.py kill|defect N ARGUMENTS...
"""

import os
import signal
import sys
from typing import Any

from fairlead.agent import main as agent_main
from fairlead.agent.host import RealHost

COUNTED = (
    "read_file",
    "write_file",
    "append_file",
    "rename",
    "create_link",
    "sync_directory",
    "remove",
    "make_directory",
    "list_directory",
    "file_mode",
    "run",
)


class KilledHost(RealHost):
    """Breaks right before the operation whose turn it is; N = 0 never does."""

    remaining = int(sys.argv[2])

    def __getattribute__(self, name: str) -> Any:
        if name in COUNTED:
            KilledHost.remaining -= 1
            if KilledHost.remaining == 0 and sys.argv[1] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if KilledHost.remaining == 0:
                raise RuntimeError("a defect")
        return super().__getattribute__(name)


if __name__ == "__main__":
    agent_main.RealHost = KilledHost  # type: ignore[attr-defined]
    code = agent_main.run_command(sys.argv[3:])
    sys.stdout.write(f"operations={-KilledHost.remaining}\n")
    sys.exit(code)
