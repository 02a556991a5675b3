"""`fairlead logs`: what a machine printed since it last got power."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import add_form, add_state, describe_command
from fairlead.cli.request import plane_here, write_answer
from fairlead.contract.visible_text import visible
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answers.machine import MachineLog

EXAMPLE = """\
example: the last lines of a machine's console
  fairlead logs MACHINE --tail 50

With --follow it goes on with what the machine prints from here on.
At most the last 256 KiB of what it printed since it last got power, escaped where a terminal would
obey it; how far its boot came is on stderr. With a machine its console goes: `fairlead timeline
MACHINE` shows what it reported.
"""

LOOK_S = 0.3


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of logs."""
    describe_command(parser, "Show what a machine printed.", EXAMPLE, _run)
    parser.add_argument("name", metavar="MACHINE", help="name of the machine")
    parser.add_argument("--tail", type=int, metavar="N", help="the last N lines only")
    parser.add_argument(
        "-F", "--follow", action="store_true", help="go on with what it prints, until Ctrl-C"
    )
    add_form(parser)
    add_state(parser)


def _run(arguments: Namespace) -> int:
    if arguments.tail is not None and arguments.tail < 1:
        raise InputError(f"found {arguments.tail}, expected 1 or more", field="--tail")
    client = plane_here(arguments)
    log = client.machine_log(arguments.name)
    if arguments.json:
        write_answer(log)
        return 0
    _write_end(log, arguments.tail)
    while arguments.follow:
        sys.stdout.flush()
        time.sleep(LOOK_S)
        before, log = log, client.machine_log(arguments.name, after=log.end)
        _write_rest(before, log)
    if log.last_words:
        sys.stderr.write(f"last words: {log.last_words}\n")
    elif not log.text:
        sys.stderr.write(f"{arguments.name} has printed nothing\n")
    return 0


def _write_end(log: MachineLog, tail: int | None) -> None:
    """Write the end of a console, and say if there was more before it."""
    lines = log.text.splitlines()
    # What was cut off in the middle is no line.
    lines = lines[1:] if log.begin else lines
    kept = lines if tail is None else lines[-tail:]
    if log.begin or len(kept) < len(lines):
        sys.stderr.write("earlier lines are left out\n")
    sys.stdout.write("".join(f"{visible(line)}\n" for line in kept))


def _write_rest(before: MachineLog, log: MachineLog) -> None:
    """Write what was printed since; all of it if the machine got power again meanwhile."""
    if log.power != before.power or log.begin < before.end:
        sys.stderr.write(f"{log.machine} got power again\n")
        _write_end(log, None)
        return
    sys.stdout.write(visible(log.text, "\n\t"))
