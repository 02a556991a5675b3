"""What an owner declared before, and back to it: `pool history` and `rollout undo`."""

from __future__ import annotations

import sys
from argparse import Namespace

from fairlead.cli.flags import add_command, add_dry_run, add_follow_flags, add_yes
from fairlead.cli.request import plane_of
from fairlead.cli.watching import show_answer
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.answers.pool import KeptDocument, PoolHistory
    from fairlead.cli.flags import Commands
    from fairlead.inputs.leaf import Json

HISTORY_EXAMPLE = """\
example: what was declared for a pool and since when; then one of those documents
  fairlead pool history workers
  fairlead pool history workers 1

The last one is in force. Twenty are kept, for as long as the pool lives.
"""
UNDO_EXAMPLE = """\
example: what going back would replace, without doing it; then back to what the pool ran before
  fairlead rollout undo workers --dry-run
  fairlead rollout undo workers --yes

Plans the latest document that has other intent than the one in force, or that with the number N of
`fairlead pool history`; asks, applies and follows as `fairlead apply` does. How many machines there
are, a pause, a force and a resume stay as they are now. A minor version before that of the pool is
refused without --allow-downgrade, as everywhere.
"""

# Fields of a pool's spec that are no part of what a rollout brought.
STAY = ("replicas", "paused", "force")


def add_history(commands: Commands) -> None:
    """Add `pool history`."""
    purpose = "show what was declared for a pool before"
    history = add_command(commands, "history", purpose, HISTORY_EXAMPLE, _history)
    history.add_argument("name", metavar="NAME", help="name of the pool")
    history.add_argument(
        "number", nargs="?", type=int, metavar="N", help="print this document, to edit and apply"
    )


def add_undo(commands: Commands) -> None:
    """Add `rollout undo`."""
    purpose = "go back to what was declared before"
    undo = add_command(commands, "undo", purpose, UNDO_EXAMPLE, _undo)
    undo.add_argument("pool", metavar="POOL")
    undo.add_argument("--to", type=int, metavar="N", help="the document with this number")
    undo.add_argument(
        "--allow-downgrade",
        action="store_true",
        help="also to an earlier minor version, which Kubernetes does not promise to work",
    )
    add_yes(undo)
    add_dry_run(undo)
    add_follow_flags(undo)


def _history(arguments: Namespace) -> int:
    client = plane_of(arguments)
    if arguments.number is not None:
        from fairlead.cli.files.yaml_text import yaml_of
        from fairlead.cli.request import write_json

        document = numbered(client.history(arguments.name), arguments.number).document
        if arguments.json:
            write_json(document)
        else:
            sys.stdout.write(yaml_of(document))
        return 0
    from fairlead.cli.screens.history import history_blocks

    return show_answer(arguments, lambda: client.history(arguments.name), history_blocks)


def _undo(arguments: Namespace) -> int:
    from fairlead.cli.commands.apply import apply_documents
    from fairlead.cli.files.documents import parse_documents
    from fairlead.cli.files.yaml_text import yaml_of
    from fairlead.inputs.registry import DOWNGRADE

    kept = plane_of(arguments).history(arguments.pool)
    chosen = numbered(kept, arguments.to) if arguments.to is not None else previous(kept)
    if not arguments.json:
        sys.stderr.write(f"back to document {chosen.number} of {arguments.pool}\n")
    document = with_present(chosen.document, kept.documents[-1].document)
    if arguments.allow_downgrade:
        document = allowed(document, DOWNGRADE)
    source = f"document {chosen.number} of {arguments.pool}"
    try:
        return apply_documents(arguments, parse_documents(yaml_of(document), source))
    except InputError as error:
        if DOWNGRADE not in str(error) or arguments.allow_downgrade:
            raise
        hint = f"fairlead rollout undo {arguments.pool} --allow-downgrade goes back all the same"
        problem = f"{source} has an earlier minor version than the pool"
        raise InputError(problem, field="release.version", hint=hint) from error


def numbered(kept: PoolHistory, number: int) -> KeptDocument:
    """Return the document with this number. Raises InputError."""
    for document in kept.documents:
        if document.number == number:
            return document
    known = ", ".join(str(document.number) for document in kept.documents)
    raise InputError(f"no document has the number {number}", field=kept.pool, hint=f"kept: {known}")


def previous(kept: PoolHistory) -> KeptDocument:
    """Return the latest document whose intent is not the one in force. Raises InputError."""
    from fairlead.answers.words import LeafClass
    from fairlead.proposal.leaves import pool_differences

    *earlier, present = kept.documents
    for document in reversed(earlier):
        wanted = with_present(document.document, present.document)
        leaves = pool_differences(present.document, wanted)
        if any(leaf.leaf_class is LeafClass.INTENT for leaf in leaves):
            return document
    raise InputError(
        "no document before the one in force has other intent",
        field=kept.pool,
        hint=f"fairlead pool history {kept.pool} shows what is kept",
    )


def with_present(document: Json, present: Json) -> Json:
    """Return an earlier document with what stays as it is now."""
    spec, present_spec = _spec_of(document), _spec_of(present)
    kept = {name: value for name, value in spec.items() if name not in STAY}
    kept |= {name: present_spec[name] for name in STAY if name in present_spec}
    rollout, present_rollout = _fields(kept, "rollout"), _fields(present_spec, "rollout")
    rollout = {name: value for name, value in rollout.items() if name != "resume"}
    if "resume" in present_rollout:
        rollout["resume"] = present_rollout["resume"]
    if rollout or "rollout" in kept:
        kept["rollout"] = rollout
    return {**_fields({"": document}, ""), "spec": kept}


def allowed(document: Json, what: str) -> Json:
    """Return a document in which its owner allows this, whatever else is allowed there."""
    spec = _spec_of(document)
    release = _fields(spec, "release")
    found = release.get("allow")
    others = [word for word in found if word != what] if isinstance(found, list) else []
    wanted = {**spec, "release": {**release, "allow": [*others, what]}}
    return {**_fields({"": document}, ""), "spec": wanted}


def _spec_of(document: Json) -> dict[str, Json]:
    return _fields(_fields({"": document}, ""), "spec")


def _fields(mapping: Mapping[str, Json], name: str) -> dict[str, Json]:
    found = mapping.get(name)
    return dict(found) if isinstance(found, dict) else {}
