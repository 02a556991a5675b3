"""`fairlead rollout`: how far, what it waits for, and how to stop it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from fairlead.cli.commands.history import add_undo
from fairlead.cli.flags import add_command, add_dry_run, add_timeout
from fairlead.cli.output import as_typed
from fairlead.cli.request import plane_of, write_answer
from fairlead.cli.watching import add_watch, show_answer
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.answering.questions import Questions
    from fairlead.answers.machine import MachineAnswer
    from fairlead.answers.pool import PoolAnswer, PoolDetail, Pools
    from fairlead.cli.screens.blocks import Block

STATUS_EXAMPLE = """\
example: every pool, or one with its machines
  fairlead rollout status
  fairlead rollout status workers
"""
WATCH_EXAMPLE = """\
example: stay until every machine has what is declared
  fairlead rollout watch workers

exit code: 0 if complete; 4 with the reason if it waits for something that only a person can end.
Ctrl-C ends the watching, never the rollout.
"""
HALT_EXAMPLE = """\
example: no machine of this pool is replaced any more, until you say so
  fairlead rollout halt workers
  fairlead pool resume workers

--all is the kill switch: in every pool no machine comes or goes, not even for scaling or repair.
  fairlead rollout halt --all
  fairlead platform set stopEverything=false
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the commands of rollout."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    purpose = "say how far rollouts are and what they wait for"
    status = add_command(commands, "status", purpose, STATUS_EXAMPLE, _status)
    status.add_argument("pool", nargs="?", metavar="POOL")
    add_watch(status)
    purpose = "show a rollout until it is complete"
    watch = add_command(commands, "watch", purpose, WATCH_EXAMPLE, _watch)
    watch.add_argument("pool", metavar="POOL")
    add_timeout(watch)
    add_undo(commands)
    halt = add_command(commands, "halt", "stop replacing machines", HALT_EXAMPLE, _halt)
    halt.add_argument("pool", nargs="?", metavar="POOL")
    halt.add_argument("--all", action="store_true", help="the kill switch, for every pool")
    add_dry_run(halt)


def _status(arguments: Namespace) -> int:
    client = plane_of(arguments)
    if arguments.pool:
        return show_answer(arguments, lambda: client.pool(arguments.pool), _one_pool)
    return show_answer(arguments, client.pools, lambda found: _all_pools(client, found))


def _one_pool(pool: PoolDetail) -> list[Block]:
    return _pool_blocks([(pool, pool.machines)])


def _all_pools(client: Questions, found: Pools) -> list[Block]:
    """One question for the machines of all pools, however many there are."""
    from fairlead.cli.screens.blocks import line

    by_pool: dict[str, list[MachineAnswer]] = {pool.name: [] for pool in found.pools}
    for machine in client.machines().machines:
        by_pool.get(machine.pool, []).append(machine)
    return _pool_blocks([(pool, by_pool[pool.name]) for pool in found.pools]) or [
        line("no pool yet")
    ]


def _pool_blocks(pools: Sequence[tuple[PoolAnswer, Sequence[MachineAnswer]]]) -> list[Block]:
    from fairlead.cli.clock import present
    from fairlead.cli.screens.rollout import rollout_blocks
    from fairlead.cli.screens.width import width_of

    width, now = width_of(sys.stdout), present()
    return [
        block for pool, machines in pools for block in rollout_blocks(pool, machines, width, now)
    ]


def _watch(arguments: Namespace) -> int:
    from fairlead.cli.follow import follow

    code = follow(arguments, [arguments.pool])
    if arguments.json:
        write_answer(plane_of(arguments).pool(arguments.pool))
    return code


def _halt(arguments: Namespace) -> int:
    if bool(arguments.pool) == arguments.all:
        raise InputError("expected a POOL, or --all")
    if arguments.all:
        from fairlead.cli.commands.platform import change_platform

        code = change_platform(arguments, {"stopEverything": True})
        undo = "fairlead platform set stopEverything=false"
    else:
        from fairlead.cli.commands.pool import change_pool

        arguments.name = arguments.pool
        code = change_pool(arguments, {"paused": True})
        undo = f"fairlead pool resume {arguments.pool}"
    if not arguments.json and not arguments.dry_run:
        sys.stderr.write(f"halted; {as_typed(undo)} undoes it\n")
    return code
