"""The question before machines are disturbed. Without a terminal nobody can answer it."""

from __future__ import annotations

import select
import sys
from argparse import Namespace

from fairlead.errors import InputError

LOOK_S = 0.2

DECLINED = 1  # exit code: somebody was asked and said no


def is_agreed(arguments: Namespace, question: str) -> bool:
    """Say whether to go on: --yes, or a yes at the terminal. Raises InputError without one."""
    if arguments.yes:
        return True
    # A process that is started without a stdin has none at all.
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"{question} needs an answer, and there is no terminal", hint="use --yes")
    try:
        # Whoever sees the question may press Ctrl-C before anything waits for an answer.
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        # A signal just before a read is noticed only after it: so nothing is read before there is.
        while not select.select([sys.stdin], [], [], LOOK_S)[0]:
            pass
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\nnothing was changed\n")
        raise
    if answer.strip().lower() in ("y", "yes"):
        return True
    # The end of the input, Ctrl-D, left the cursor behind the question.
    sys.stderr.write("nothing was changed\n" if answer else "\nnothing was changed\n")
    return False
