"""`fairlead diff`: leaf by leaf, a file against what is live, or machines against their pool."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import DIFFERS, add_file, add_plane_flags, describe_command
from fairlead.cli.request import plane_of, write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairlead.answering.questions import Questions
    from fairlead.cli.files.documents import Document
    from fairlead.cli.screens.diff import Difference
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
    client = plane_of(arguments)
    if arguments.file:
        found = _file_differences(client, arguments.file)
    else:
        found = _machine_differences(client, arguments.pool)
    if arguments.json:
        from fairlead.answers.text import plain

        write_json({"differences": [_fields_of(difference, plain) for difference in found]})
    else:
        from fairlead.cli.screens.diff import difference_blocks
        from fairlead.cli.screens.show import write_blocks

        write_blocks(difference_blocks(found))
    return DIFFERS if any(difference.leaves for difference in found) else 0


def _fields_of(difference: Difference, plain: Callable[[object], Json]) -> Json:
    fields: dict[str, Json] = {"of": difference.of, "leaves": plain(difference.leaves)}
    return {**fields, "machines": list(difference.machines)} if difference.machines else fields


def _file_differences(client: Questions, file: Path) -> list[Difference]:
    from fairlead.cli.files.documents import read_documents
    from fairlead.cli.screens.diff import Difference
    from fairlead.inputs.brakes import with_brakes
    from fairlead.proposal.leaves import platform_differences, pool_differences

    found = []
    for document in read_documents(file):
        live = _live_document(client, document)
        is_pool = document.kind == "NodePool"
        differences = pool_differences if is_pool else platform_differences
        found.append(Difference(document.title, differences(live, with_brakes(document, live))))
    return found


def _live_document(client: Questions, document: Document) -> Json:
    if document.kind == "PlatformConfig":
        return client.platform().document
    names = [pool.name for pool in client.pools().pools]
    return client.pool(document.name).document if document.name in names else None


def _machine_differences(client: Questions, name: str) -> list[Difference]:
    """Machines with one revision differ alike: one of each is asked for."""
    from fairlead.answers.leaf import LeafDifference
    from fairlead.answers.words import LeafClass
    from fairlead.cli.screens.diff import Difference

    pool = client.pool(name)
    held = [
        LeafDifference(
            leaf=change.leaf,
            leaf_class=LeafClass.PLATFORM,
            owner=change.owner,
            before=change.before,
            after=change.after,
        )
        for change in pool.held
    ]
    groups: dict[str, list[str]] = {}
    for machine in pool.machines:
        groups.setdefault(machine.booted or machine.revision, []).append(machine.name)
    found = []
    for revision, names in sorted(groups.items()):
        leaves = client.machine(names[0]).difference
        told = {leaf.leaf for leaf in leaves}
        leaves += tuple(leaf for leaf in held if leaf.leaf not in told)
        found.append(Difference(f"revision {revision}", leaves, tuple(sorted(names))))
    return found
