"""
The agent as a real process whose fix path is hurt at one operation of its host.

    python dying_agent.py HOW N ARGUMENTS...

HOW is what happens to the process of the fix path right before its N-th operation: `kill` it, or
`stop` it for ever. `late-MS` kills it so many milliseconds after that operation began, most often
while the program runs that the operation started. N = 0 never does.
"""

import os
import signal
import sys
from typing import Any

from fairlead.agent import main as agent_main
from fairlead.agent.host import RealHost

COUNTED = (
    "append_file", "ask_metadata", "call", "create_link", "fetch", "file_mode", "list_directory",
    "make_directory", "read_file", "remove", "rename", "run", "sync_directory", "write_file",
)  # fmt: skip


class DyingHost(RealHost):
    """Hurts its own child; the process that boots is left alone."""

    remaining = int(sys.argv[2])
    is_child = False

    def __getattribute__(self, name: str) -> Any:
        if name in COUNTED and DyingHost.is_child:
            DyingHost.remaining -= 1
            if DyingHost.remaining == 0:
                hurt(sys.argv[1])
        return super().__getattribute__(name)


def note_child() -> None:
    # Not by its number: in a process namespace it may have the parent's.
    DyingHost.is_child = True


def hurt(how: str) -> None:
    if how.startswith("late-"):
        # What an alarm does to a process that has not asked for it.
        signal.setitimer(signal.ITIMER_REAL, int(how.removeprefix("late-")) / 1000)
        return
    os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSTOP)


if __name__ == "__main__":
    os.register_at_fork(after_in_child=note_child)
    agent_main.RealHost = DyingHost  # type: ignore[attr-defined]
    sys.exit(agent_main.run_command(sys.argv[3:]))
