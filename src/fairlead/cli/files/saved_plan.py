"""A plan in a file: written whole for its owner's eyes, and read back with what it promises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairlead.answers.reply import Proposed
from fairlead.answers.saved_plan import SavedPlan
from fairlead.answers.text import decode, plain
from fairlead.cli.clock import present
from fairlead.cli.files.private_file import write_private
from fairlead.cli.files.typed_file import read_typed_file
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json

HINT = "expected what `fairlead plan -f FILE -o PLAN` wrote; documents are applied with -f"


def save_plan(path: Path, documents: Sequence[Json], proposed: Proposed) -> None:
    """Write a plan that `fairlead apply` can carry out later. Mode 0600: it holds the documents."""
    saved = SavedPlan(
        made_at=present(),
        documents=tuple(documents),
        plans=proposed.plans,
        bases=proposed.bases,
    )
    write_private(path, (encode_json(plain(saved), indent=2) + "\n").encode())


def read_plan(path: Path) -> SavedPlan:
    """Return a plan that was saved. Raises InputError by field."""
    try:
        text = read_typed_file(path)
    except FileNotFoundError as error:
        raise InputError("no such file", field=str(path), hint=HINT) from error
    try:
        return decode(SavedPlan, text)
    except InputError as error:
        where = f"{path}: {error.field}" if error.field else str(path)
        raise InputError(error.problem, field=where, hint=HINT) from error
