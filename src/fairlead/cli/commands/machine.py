"""`fairlead machine`: machines, and faults on purpose."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import add_command, add_dry_run
from fairlead.cli.request import ask, path_of, write_json
from fairlead.errors import InputError

LIST_EXAMPLE = """\
example: the machines of one pool, those that are gone included
  fairlead machine list workers --gone
"""
SHOW_EXAMPLE = """\
example: one machine: what it runs, why, and its events
  fairlead machine show MACHINE
"""
DELETE_EXAMPLE = """\
example: one machine goes; its pool makes another
  fairlead machine delete MACHINE

In a pool with the strategy OnDelete this is how a rollout moves on.
"""
FAULT_EXAMPLE = """\
example: a machine that fails while it runs, and a next one whose boot fails
  fairlead machine fault MACHINE break
  fairlead machine fault --next workers fail-boot --count 2
"""

# embedded/machines/kind.py says what each does; a list here keeps --help from importing it.
FAULTS = ("none", "fail-boot", "never-join", "stuck-drain", "break")


def add_commands(parser: ArgumentParser) -> None:
    """Add the commands of machine."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    listing = add_command(commands, "list", "list machines", LIST_EXAMPLE, _list)
    listing.add_argument("pool", nargs="?", metavar="POOL", help="of this pool only")
    listing.add_argument("--gone", action="store_true", help="also those that left")
    show = add_command(commands, "show", "show one machine in full", SHOW_EXAMPLE, _show)
    show.add_argument("name", metavar="NAME", help="name of the machine")
    delete = add_command(commands, "delete", "remove one machine", DELETE_EXAMPLE, _delete)
    delete.add_argument("name", metavar="NAME", help="name of the machine")
    add_dry_run(delete)
    purpose = "let a machine, or the next of a pool, fail on purpose"
    fault = add_command(commands, "fault", purpose, FAULT_EXAMPLE, _fault)
    fault.add_argument("name", nargs="?", metavar="NAME", help="name of the machine")
    fault.add_argument("kind", choices=FAULTS, metavar="KIND", help=", ".join(FAULTS))
    fault.add_argument("--next", metavar="POOL", help="the next machines of this pool instead")
    fault.add_argument("--count", type=int, default=1, metavar="N", help="how many (default: 1)")
    add_dry_run(fault)


def _list(arguments: Namespace) -> int:
    from urllib.parse import urlencode

    asked = {"pool": arguments.pool, "gone": "1" if arguments.gone else None}
    query = urlencode({name: value for name, value in asked.items() if value})
    answer = ask(arguments, "GET", "/v1/machines" + (f"?{query}" if query else ""))
    if arguments.json:
        write_json(answer)
        return 0
    from fairlead.cli.screens.blocks import line, write_blocks
    from fairlead.cli.screens.machine import machines_grid
    from fairlead.cli.screens.spoken_time import present

    found = answer["machines"]
    write_blocks([machines_grid(found, present())] if found else [line("no machine")])
    return 0


def _show(arguments: Namespace) -> int:
    machine = ask(arguments, "GET", path_of("machines", arguments.name))
    if arguments.json:
        write_json(machine)
        return 0
    from fairlead.cli.screens.blocks import write_blocks
    from fairlead.cli.screens.machine import machine_blocks
    from fairlead.cli.screens.spoken_time import present

    write_blocks(machine_blocks(machine, present()))
    return 0


def _delete(arguments: Namespace) -> int:
    path = path_of("machines", arguments.name)
    machine = ask(arguments, "GET", path)
    if machine["gone_at"]:
        raise InputError("this machine is gone already", field=arguments.name)
    answer = machine if arguments.dry_run else ask(arguments, "DELETE", path)
    if arguments.json:
        write_json(answer)
    else:
        verb = "would leave" if arguments.dry_run else "leaves"
        sys.stdout.write(f"{arguments.name} {verb}: deleted by hand\n")
    return 0


def _fault(arguments: Namespace) -> int:
    if bool(arguments.name) == bool(arguments.next):
        raise InputError("expected NAME KIND, or --next POOL KIND")
    if arguments.next:
        faults = [arguments.kind] * max(arguments.count, 1)
        path, body = path_of("pools", arguments.next, "faults"), {"faults": faults}
        said = f"the next {len(faults)} of {arguments.next}: {arguments.kind}"
    else:
        path, body = path_of("machines", arguments.name, "fault"), {"fault": arguments.kind}
        said = f"{arguments.name}: {arguments.kind}"
    answer = {} if arguments.dry_run else ask(arguments, "POST", path, body)
    if arguments.json:
        write_json(answer)
    else:
        sys.stdout.write(said + "\n")
    return 0
