"""How somebody who reads a command can type it: where `fairlead` is not on PATH, by its path."""

from __future__ import annotations

import shlex
import shutil
import sys

PROGRAM = "fairlead"


def program_name() -> str:
    """Return what to type in the place of `fairlead`."""
    if shutil.which(PROGRAM):
        return PROGRAM
    started = sys.argv[0]
    if started.endswith(f"/{PROGRAM}"):
        return shlex.quote(started)
    return f"{shlex.quote(sys.executable)} -m {PROGRAM}"


def typed(command: str) -> str:
    """Return a command that begins with `fairlead` as it can be typed here."""
    return program_name() + command.removeprefix(PROGRAM)
