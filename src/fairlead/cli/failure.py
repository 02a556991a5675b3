"""Errors as they leave a command: a sentence for people, or a document for scripts; on stderr."""

from __future__ import annotations

import sys

from fairlead.cli.files.listed_error import ListedError
from fairlead.cli.output import FORM, JSON, NAME, YAML, as_typed
from fairlead.contract.json_text import encode_json
from fairlead.contract.visible_text import visible, without_errno
from fairlead.errors import FairleadError, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.inputs.leaf import Json


def print_error(text: str) -> None:
    """Write one line for the person at the terminal."""
    sys.stderr.write(f"fairlead: {_shown(text)}\n")


def tell_failure(error: FairleadError) -> int:
    """Say what went wrong, in the form that was asked for; return the exit code."""
    if FORM.get() in (JSON, NAME):
        sys.stderr.write(encode_json({"error": failure_fields(error)}) + "\n")
    elif FORM.get() == YAML:
        from fairlead.cli.files.yaml_text import yaml_of

        sys.stderr.write(yaml_of({"error": failure_fields(error)}))
    elif isinstance(error, ListedError):
        print_error(error.lines[0])
        sys.stderr.write("".join(f"{_shown(line)}\n" for line in error.lines[1:]))
    else:
        print_error(str(error))
    return error.exit_code


def failure_fields(error: FairleadError) -> dict[str, Json]:
    """Return an error as a document: exit code, class, problem, and what an InputError adds."""
    fields: dict[str, Json] = {"code": error.exit_code, "kind": _kind_of(error)}
    if not isinstance(error, InputError):
        return {**fields, "problem": without_errno(as_typed(str(error))), "field": "", "hint": ""}
    fields |= {
        "problem": without_errno(error.problem),
        "field": error.field,
        "hint": as_typed(error.hint),
    }
    return {**fields, "problems": error.listed} if isinstance(error, ListedError) else fields


def _shown(text: str) -> str:
    return visible(without_errno(as_typed(text)))


def _kind_of(error: FairleadError) -> str:
    """Return the name of one of the five; those below it are nobody else's business."""
    kinds = [kind for kind in type(error).__mro__ if FairleadError in kind.__bases__]
    return kinds[0].__name__ if kinds else FairleadError.__name__
