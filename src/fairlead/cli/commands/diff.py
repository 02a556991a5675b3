"""`fairlead diff`: leaf by leaf, a file against what is live, or machines against their pool."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import DIFFERS, add_file, add_plane_flags, describe_command
from fairlead.cli.request import ask, path_of, write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.cli.files.documents import Document
    from fairlead.inputs.leaf import Json

EXAMPLE = """\
example: what a file would change, and what the machines of a pool lack
  fairlead diff -f examples/pool.yaml
  fairlead diff workers

With FILE: what is live against what the file says; order, comments and spelling never matter.
With POOL: what its machines have against what is declared now, held platform changes included.

exit code: 0 if nothing differs, 10 if something does.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of diff."""
    purpose = "Show differences leaf by leaf, with class, owner, before and after."
    describe_command(parser, purpose, EXAMPLE, _run)
    parser.add_argument("pool", nargs="?", metavar="POOL")
    add_file(parser, is_needed=False)
    add_plane_flags(parser)


def _run(arguments: Namespace) -> int:
    if bool(arguments.pool) == bool(arguments.file):
        raise InputError("expected -f FILE, or a POOL")
    found = _file_differences(arguments) if arguments.file else _machine_differences(arguments)
    if arguments.json:
        write_json({"differences": found})
    else:
        from fairlead.cli.screens.blocks import write_blocks
        from fairlead.cli.screens.diff import difference_blocks

        write_blocks(difference_blocks(found))
    return DIFFERS if any(difference["leaves"] for difference in found) else 0


def _file_differences(arguments: Namespace) -> list[dict[str, Any]]:
    from fairlead.cli.files.document_leaves import leaf_differences
    from fairlead.cli.files.documents import read_documents
    from fairlead.inputs.brakes import with_brakes

    return [
        {
            "of": document.title,
            "leaves": leaf_differences(document.kind, live, with_brakes(document, live)),
        }
        for document in read_documents(arguments.file)
        for live in [_live_document(arguments, document)]
    ]


def _live_document(arguments: Namespace, document: Document) -> Json:
    if document.kind == "PlatformConfig":
        return ask(arguments, "GET", "/v1/platform")["document"]
    names = [pool["name"] for pool in ask(arguments, "GET", "/v1/pools")["pools"]]
    if document.name not in names:
        return None
    return ask(arguments, "GET", path_of("pools", document.name))["document"]


def _machine_differences(arguments: Namespace) -> list[dict[str, Any]]:
    """Machines with one revision differ alike: one of each is asked for."""
    pool = ask(arguments, "GET", path_of("pools", arguments.pool))
    held = [{**_leaf_of(change), "class": "platform"} for change in pool["held"]]
    groups: dict[str, list[str]] = {}
    for machine in pool["machines"]:
        groups.setdefault(machine["booted"] or machine["revision"], []).append(machine["name"])
    found = []
    for revision, names in sorted(groups.items()):
        leaves = ask(arguments, "GET", path_of("machines", names[0]))["difference"]
        told = {leaf["leaf"] for leaf in leaves}
        leaves = [*leaves, *(leaf for leaf in held if leaf["leaf"] not in told)]
        found.append({"of": f"revision {revision}", "machines": sorted(names), "leaves": leaves})
    return found


def _leaf_of(change: dict[str, Any]) -> dict[str, Any]:
    return {name: change[name] for name in ("leaf", "owner", "before", "after")}
