"""`fairlead apply`: the plan of a file, then exactly that plan, then its progress."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from fairlead.cli.flags import (
    add_dry_run,
    add_file,
    add_follow_flags,
    add_plane_flags,
    add_yes,
    describe_command,
)
from fairlead.cli.request import plane_of, write_answer
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.answers.plan import Plan
    from fairlead.answers.reply import Applied, Proposed
    from fairlead.cli.files.documents import Document
    from fairlead.inputs.leaf import Json

EXAMPLE = """\
example: change the pool as the file says, and stay until every machine has it
  fairlead apply -f examples/pool.yaml --yes

example: what was planned and looked at before, and nothing else
  fairlead plan -f examples/pool.yaml -o plan.json
  fairlead apply plan.json --yes

It asks before machines are replaced, changed in place or removed, and before a pool more than
doubles or gets more than 50 machines at once; without a terminal it then needs --yes. What is
carried out is the plan that was shown: if machines or documents changed meanwhile, nothing is
written and what moved is named (exit 5). Ctrl-C ends the following, never the rollout.

exit code: 0 if complete; 4 if it waits for something that only a person can end, with the reason;
5 if the plan no longer holds; 1 if you said no.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of apply."""
    purpose = "Show the plan of a file, carry out exactly that plan, and follow it."
    describe_command(parser, purpose, EXAMPLE, _run)
    parser.add_argument(
        "plan", nargs="?", type=Path, metavar="PLAN", help="what `fairlead plan -o` wrote"
    )
    add_apply_flags(parser, needs_file=False)
    add_plane_flags(parser)


def add_apply_flags(parser: ArgumentParser, *, needs_file: bool) -> None:
    """Add what apply takes besides the flags of every command."""
    add_file(parser, is_needed=needs_file)
    add_yes(parser)
    add_dry_run(parser)
    add_follow_flags(parser)


def _run(arguments: Namespace) -> int:
    if (arguments.plan is None) == (arguments.file is None):
        raise InputError("expected -f FILE, or a PLAN that was saved")
    if arguments.plan is not None:
        return _apply_saved(arguments)
    from fairlead.cli.files.documents import read_documents

    return apply_documents(arguments, read_documents(arguments.file))


def _apply_saved(arguments: Namespace) -> int:
    from fairlead.answers.reply import Proposed
    from fairlead.cli.files.saved_plan import read_plan

    saved = read_plan(arguments.plan)
    shown = Proposed(plans=saved.plans, bases=saved.bases)
    return _carry_out(arguments, saved.documents, shown, ())


def apply_documents(arguments: Namespace, documents: list[Document]) -> int:
    """Show the plan of the documents, carry it out if that is agreed, follow it; an exit code."""
    from fairlead.cli.commands.plan import ask_for_plans

    return _carry_out(arguments, documents, ask_for_plans(arguments, documents), documents)


def _carry_out(
    arguments: Namespace, documents: Sequence[Json], shown: Proposed, places: Sequence[Document]
) -> int:
    """places: the documents with their lines and columns, where these are known."""
    from fairlead.cli.confirm import DECLINED, is_agreed
    from fairlead.cli.files.documents import placed
    from fairlead.cli.screens.plan import plan_blocks
    from fairlead.cli.screens.show import write_blocks
    from fairlead.telling.question import question_about

    if not arguments.json:
        write_blocks(plan_blocks(shown.plans))
        sys.stdout.flush()
    question = question_about(shown.plans)
    if question and not arguments.dry_run and not is_agreed(arguments, question):
        return DECLINED
    try:
        applied = plane_of(arguments).apply(documents, shown, dry_run=arguments.dry_run)
    except InputError as error:
        raise placed(error, places) from error
    _say(arguments, applied)
    if arguments.dry_run or arguments.no_wait:
        return 0
    from fairlead.cli.follow import follow

    return follow(arguments, [plan.pool for plan in shown.plans if _moves(plan)])


def _moves(plan: Plan) -> bool:
    """Say whether machines of a pool come or go: a platform document touches others, too."""
    from fairlead.telling.question import scales

    return plan.is_new or bool(plan.creates or plan.disturbed) or scales(plan)


def _say(arguments: Namespace, applied: Applied) -> None:
    if arguments.json:
        write_answer(applied)
        sys.stdout.flush()
        return
    verb = "would apply" if arguments.dry_run else "applied"
    sys.stderr.write(f"{verb} {', '.join(applied.applied) or 'nothing'}\n")
    if applied.unchanged:
        sys.stderr.write(f"unchanged {', '.join(applied.unchanged)}\n")
