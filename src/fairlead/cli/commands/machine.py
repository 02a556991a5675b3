"""`fairlead machine`: machines, and faults on purpose."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from fairlead.answers.words import Fault
from fairlead.cli.failure import print_error
from fairlead.cli.flags import add_command, add_dry_run, add_yes
from fairlead.cli.output import FORM, WIDE
from fairlead.cli.request import plane_here, plane_of, write_answer, write_json
from fairlead.cli.watching import add_watch, show_answer
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
  fairlead machine delete MACHINE --yes

It asks first; without a terminal it needs --yes (exit 2, nothing is changed). exit code: 1 if you
said no. --force also ends a drain that does not end by itself: what still runs on the machine is
cut off. In a pool with the strategy OnDelete this is how a rollout moves on.
"""
FAULT_EXAMPLE = """\
example: a machine that fails while it runs, and a next one whose boot fails
  fairlead machine fault MACHINE break
  fairlead machine fault --next workers fail-boot --count 2
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answers.document import Document

FAULTS = tuple(fault.value for fault in Fault)


def add_commands(parser: ArgumentParser) -> None:
    """Add the commands of machine."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    listing = add_command(commands, "list", "list machines", LIST_EXAMPLE, _list)
    listing.add_argument("pool", nargs="?", metavar="POOL", help="of this pool only")
    listing.add_argument("--gone", action="store_true", help="also those that left")
    add_watch(listing)
    show = add_command(commands, "show", "show one machine in full", SHOW_EXAMPLE, _show)
    show.add_argument("name", metavar="NAME", help="name of the machine")
    add_watch(show)
    delete = add_command(commands, "delete", "remove one machine", DELETE_EXAMPLE, _delete)
    delete.add_argument("name", metavar="NAME", help="name of the machine")
    delete.add_argument("--force", action="store_true", help="do not wait for its drain")
    add_yes(delete)
    add_dry_run(delete)
    purpose = "let a machine, or the next of a pool, fail on purpose"
    fault = add_command(commands, "fault", purpose, FAULT_EXAMPLE, _fault)
    fault.add_argument("name", nargs="?", metavar="NAME", help="name of the machine")
    fault.add_argument("kind", choices=FAULTS, metavar="KIND", help=", ".join(FAULTS))
    fault.add_argument("--next", metavar="POOL", help="the next machines of this pool instead")
    fault.add_argument("--count", type=int, default=1, metavar="N", help="how many (default: 1)")
    add_dry_run(fault)


def _list(arguments: Namespace) -> int:
    from fairlead.cli.clock import present
    from fairlead.cli.screens.machine import machines_blocks

    client, is_wide = plane_of(arguments), FORM.get() == WIDE
    if arguments.gone and arguments.kube:
        print_error("a cluster keeps no machine that is gone; fairlead events tells of them")
    return show_answer(
        arguments,
        lambda: client.machines(arguments.pool or "", with_gone=arguments.gone),
        lambda found: machines_blocks(found, present(), is_wide=is_wide),
    )


def _show(arguments: Namespace) -> int:
    from fairlead.cli.clock import present
    from fairlead.cli.screens.machine import machine_blocks

    client = plane_of(arguments)
    return show_answer(
        arguments,
        lambda: client.machine(arguments.name),
        lambda machine: machine_blocks(machine, present()),
    )


def _delete(arguments: Namespace) -> int:
    from fairlead.cli.confirm import DECLINED, is_agreed

    client = plane_of(arguments)
    machine = client.machine(arguments.name)
    if machine.gone_at:
        raise InputError("this machine is gone already", field=arguments.name)
    question = f"remove {machine.name} of {machine.pool}?"
    if not arguments.dry_run and not is_agreed(arguments, question):
        return DECLINED
    answer: Document = machine
    if not arguments.dry_run:
        answer = client.delete_machine(arguments.name, force=arguments.force)
    if arguments.json:
        write_answer(answer)
    else:
        verb = "would leave" if arguments.dry_run else "leaves"
        how = ", without its drain" if arguments.force else ""
        sys.stdout.write(f"{arguments.name} {verb}: deleted by hand{how}\n")
    return 0


def _fault(arguments: Namespace) -> int:
    if bool(arguments.name) == bool(arguments.next):
        raise InputError("expected NAME KIND, or --next POOL KIND")
    client, fault = plane_here(arguments), Fault(arguments.kind)
    count = max(arguments.count, 1)
    if arguments.next:
        said = f"the next {count} of {arguments.next}: {fault.value}"
    else:
        said = f"{arguments.name}: {fault.value}"
    if not arguments.dry_run and arguments.next:
        client.queue_faults(arguments.next, [fault] * count)
    elif not arguments.dry_run:
        client.break_machine(arguments.name, fault)
    if arguments.json:
        write_json({})
    else:
        sys.stdout.write(said + "\n")
    return 0
