"""`fairlead plan`: what a file would replace, without doing it."""

from __future__ import annotations

import shlex
import sys
from argparse import Action, ArgumentParser, Namespace
from pathlib import Path

from fairlead.cli.cluster import add_cluster_flags
from fairlead.cli.flags import DIFFERS, add_file, add_json, add_state, describe_command
from fairlead.cli.output import FORMS, as_typed
from fairlead.cli.request import plane_of, write_answer
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answers.reply import Proposed
    from fairlead.cli.files.documents import Document

EXAMPLE = """\
example: what would this file do to the machines that run? Keep the answer, and do just that later
  fairlead plan -f examples/pool.yaml
  fairlead plan -f examples/pool.yaml --save plan.json
  fairlead apply plan.json

exit code: 0 if no machine would be disturbed, 10 if some would be replaced, changed in place or
removed; 2 if the file is wrong, with every problem by line and column.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of plan."""
    purpose = "Show what a file would replace, why, in what order, and how long it would take."
    describe_command(parser, purpose, EXAMPLE, _run)
    add_file(parser)
    parser.add_argument(
        "-o",
        "--output",
        action=_FormOrFile,
        type=Path,
        metavar="FORMAT|PLAN",
        help="json, yaml, name or wide, as everywhere; anything else is a file, as with --save",
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="PLAN",
        help="also write the plan to this file, for `fairlead apply PLAN`; mode 0600",
    )
    add_json(parser)
    add_state(parser)
    add_cluster_flags(parser)


class _FormOrFile(Action):
    """`-o json` is a form, as everywhere; `-o plan.json` is --save, as it was from the start."""

    def __call__(
        self,
        parser: ArgumentParser,  # noqa: ARG002 - argparse's
        namespace: Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002 - argparse's
    ) -> None:
        """Note which of the two it is."""
        setattr(namespace, "form" if str(values) in FORMS else "save", values)


def ask_for_plans(arguments: Namespace, documents: list[Document]) -> Proposed:
    """Return the plan of every pool that the documents touch. Raises InputError by place."""
    from fairlead.cli.files.documents import placed

    try:
        return plane_of(arguments).plan(documents)
    except InputError as error:
        raise placed(error, documents) from error


def _run(arguments: Namespace) -> int:
    from fairlead.cli.files.documents import read_documents
    from fairlead.cli.screens.plan import plan_blocks
    from fairlead.cli.screens.show import write_blocks

    documents = read_documents(arguments.file)
    proposed = ask_for_plans(arguments, documents)
    if arguments.save is not None:
        from fairlead.cli.files.saved_plan import save_plan

        save_plan(arguments.save, documents, proposed)
        apply = as_typed(f"fairlead apply {shlex.quote(str(arguments.save))}")
        sys.stderr.write(f"wrote {arguments.save}; {apply} does it\n")
    if arguments.json:
        write_answer(proposed)
    else:
        write_blocks(plan_blocks(proposed.plans))
    return DIFFERS if any(plan.disturbed for plan in proposed.plans) else 0
