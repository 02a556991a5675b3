"""`fairlead apply`: the plan of a file, then exactly that plan, then its progress."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import (
    add_dry_run,
    add_file,
    add_follow_flags,
    add_plane_flags,
    add_yes,
    describe_command,
)
from fairlead.cli.request import ask, write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.cli.files.documents import Document

EXAMPLE = """\
example: change the pool as the file says, and stay until every machine has it
  fairlead apply -f examples/pool.yaml --yes

It asks before machines are replaced, changed in place or removed; without a terminal it then
needs --yes. What is carried out is the plan that was shown: if meanwhile more would be disturbed,
nothing is written (exit 5). Ctrl-C ends the following, never the rollout.

exit code: 0 if complete; 4 if it waits for something that only a person can end, with the reason;
5 if the plan no longer holds; 1 if you said no.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of apply."""
    purpose = "Show the plan of a file, carry out exactly that plan, and follow it."
    describe_command(parser, purpose, EXAMPLE, _run)
    add_apply_flags(parser)
    add_plane_flags(parser)


def add_apply_flags(parser: ArgumentParser) -> None:
    """Add what apply takes besides the flags of every command."""
    add_file(parser)
    add_yes(parser)
    add_dry_run(parser)
    add_follow_flags(parser)


def _run(arguments: Namespace) -> int:
    from fairlead.cli.files.documents import read_documents

    return apply_documents(arguments, read_documents(arguments.file))


def apply_documents(arguments: Namespace, documents: list[Document]) -> int:
    """Show the plan of the documents, carry it out if that is agreed, follow it; an exit code."""
    from fairlead.cli.commands.plan import ask_for_plans
    from fairlead.cli.confirm import DECLINED, is_agreed
    from fairlead.cli.screens.blocks import write_blocks
    from fairlead.cli.screens.plan import counted, disturbed_by, plan_blocks

    plans = ask_for_plans(arguments, documents)
    if not arguments.json:
        write_blocks(plan_blocks(plans))
        sys.stdout.flush()
    disturbed = sum(disturbed_by(plan) for plan in plans)
    question = f"disturb {counted(disturbed)}?"
    if disturbed and not arguments.dry_run and not is_agreed(arguments, question):
        return DECLINED
    body = {"documents": documents, "plans": plans, "dry_run": arguments.dry_run}
    answer = _ask_to_apply(arguments, documents, body)
    if arguments.json:
        write_json(answer)
        sys.stdout.flush()
    else:
        verb = "would apply" if arguments.dry_run else "applied"
        sys.stderr.write(f"{verb} {', '.join(answer['applied']) or 'nothing'}\n")
        if answer["unchanged"]:
            sys.stderr.write(f"unchanged {', '.join(answer['unchanged'])}\n")
    if arguments.dry_run or arguments.no_wait:
        return 0
    from fairlead.cli.follow import follow

    # A platform document touches every pool there is; those where machines stay are done.
    return follow(
        arguments, [plan["pool"] for plan in plans if plan["creates"] or disturbed_by(plan)]
    )


def _ask_to_apply(
    arguments: Namespace, documents: list[Document], body: dict[str, Any]
) -> dict[str, Any]:
    from fairlead.cli.files.documents import placed

    try:
        return ask(arguments, "POST", "/v1/apply", body)
    except InputError as error:
        raise placed(error, documents) from error
