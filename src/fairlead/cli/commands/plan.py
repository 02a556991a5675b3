"""`fairlead plan`: what a file would replace, without doing it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import DIFFERS, add_file, add_plane_flags, describe_command
from fairlead.cli.request import ask, write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.cli.files.documents import Document

EXAMPLE = """\
example: what would this file do to the machines that run?
  fairlead plan -f examples/pool.yaml

exit code: 0 if no machine would be disturbed, 10 if some would be replaced, changed in place or
removed; 2 if the file is wrong, with every problem by line and column.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of plan."""
    purpose = "Show what a file would replace, why, in what order, and how long it would take."
    describe_command(parser, purpose, EXAMPLE, _run)
    add_file(parser)
    add_plane_flags(parser)


def ask_for_plans(arguments: Namespace, documents: list[Document]) -> list[dict[str, Any]]:
    """Return the plan of every pool that the documents touch. Raises InputError by place."""
    from fairlead.cli.files.documents import placed

    try:
        answer = ask(arguments, "POST", "/v1/plan", {"documents": documents})
    except InputError as error:
        raise placed(error, documents) from error
    plans: list[dict[str, Any]] = answer["plans"]
    return plans


def _run(arguments: Namespace) -> int:
    from fairlead.cli.files.documents import read_documents
    from fairlead.cli.screens.blocks import write_blocks
    from fairlead.cli.screens.plan import disturbed_by, plan_blocks

    plans = ask_for_plans(arguments, read_documents(arguments.file))
    if arguments.json:
        write_json({"plans": plans})
    else:
        write_blocks(plan_blocks(plans))
    return DIFFERS if any(disturbed_by(plan) for plan in plans) else 0
