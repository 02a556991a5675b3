"""`fairlead backup` and `fairlead restore`: all that a control plane knows, in one file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.flags import add_form, add_state, describe_command
from fairlead.cli.request import plane_here, write_json
from fairlead.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from fairlead.embedded.state_directory import StateDirectory
    from fairlead.embedded.store.backup import Backup
    from fairlead.embedded.store.restore import Taken

BACKUP_EXAMPLE = """\
example: a backup while everything runs, or while nothing does
  fairlead backup fairlead.backup

The file holds the database as it is at this moment, the keys and the port that machines know, and
the pull secrets: keep it as safe as those. It is checked before it has its name. The disks of
machines are not in it.
"""

RESTORE_EXAMPLE = """\
example: go back to a backup, in the place of what is there
  fairlead down
  fairlead restore fairlead.backup --over
  fairlead up --detach

No machine is touched. Those that are here and that the backup does not know are named; so are
those that it knows and that are not here, which count as failed. Without a backup, --as-it-is takes
what is left of a damaged database for the truth, and says what that was.
"""

# What nobody gets back, in the words of both commands.
NOT_IN_IT = "disks of machines, the log, and whatever changed after the backup"
NOT_OF_DEPOT = "of the depot of hotfixes: packages, repositories, the ledger, offline keys"


def add_backup(parser: ArgumentParser) -> None:
    """Add the flags of `backup`."""
    purpose = "Keep all that a control plane knows in one file."
    describe_command(parser, purpose, BACKUP_EXAMPLE, _backup)
    parser.add_argument("file", type=Path, metavar="FILE", help="a backup there is replaced")
    add_form(parser)
    add_state(parser)


def add_restore(parser: ArgumentParser) -> None:
    """Add the flags of `restore`."""
    purpose = "Go back to a backup, or take a damaged database as it is."
    describe_command(parser, purpose, RESTORE_EXAMPLE, _restore)
    parser.add_argument("file", type=Path, metavar="FILE", nargs="?", help="a backup")
    parser.add_argument("--over", action="store_true", help="also where a control plane was")
    parser.add_argument(
        "--as-it-is", action="store_true", help="without FILE: take what is left for the truth"
    )
    add_form(parser)
    add_state(parser)


def _backup(arguments: Namespace) -> int:
    from fairlead.embedded.state_directory import find_state_directory
    from fairlead.embedded.store.backup import pack, remove_database

    directory = find_state_directory(arguments.state)
    copy = _copy(arguments, directory)
    try:
        backup = pack(copy, directory, arguments.file.absolute())
    finally:
        remove_database(copy)
    if arguments.json:
        write_json({"file": str(arguments.file), **_fields(backup)})
    else:
        sys.stderr.write(f"{arguments.file}: {_says(backup)}\nnot in it: {_not_in(backup)}\n")
    return 0


def _copy(arguments: Namespace, directory: StateDirectory) -> Path:
    """Have a copy of the database made by whoever has it, or make it where nobody does."""
    from fairlead.embedded.store.backup import copy_database
    from fairlead.embedded.store.claim import is_ours
    from fairlead.embedded.store.database import Store

    try:
        return directory.path / plane_here(arguments).copy().file
    except UnavailableError:
        if not is_ours(directory):
            raise InputError(f"{directory.path} holds no control plane") from None
    store = Store(directory)
    try:
        return copy_database(store, directory)
    finally:
        store.close()


def _restore(arguments: Namespace) -> int:
    from fairlead.embedded.state_directory import find_state_directory

    directory = find_state_directory(arguments.state)
    if arguments.as_it_is == (arguments.file is not None):
        raise InputError("name a backup, or say --as-it-is", hint="fairlead restore --help")
    if arguments.as_it_is:
        return _take_as_it_is(arguments, directory)
    from fairlead.embedded.machines.place import list_places
    from fairlead.embedded.store.restore import restore

    backup = restore(arguments.file.absolute(), directory, over=arguments.over)
    here = set(list_places(directory.machines))
    known = {name for names in backup.machines.values() for name in names}
    unknown, absent = sorted(here - known), sorted(known - here)
    if arguments.json:
        write_json({**_fields(backup), "unknown": unknown, "absent": absent})
        return 0
    told = [
        f"restored: {_says(backup)}",
        f"not restored: {_not_in(backup)}",
        *(
            f"{directory.machines / name} is not known to the backup: it is left alone, and nobody "
            "looks after it"
            for name in unknown
        ),
        *(
            f"{name} is in the backup and not here: it counts as failed, and `fairlead "
            f"machine delete {name}` lets another take its place"
            for name in absent
        ),
        "`fairlead up` goes on from there",
    ]
    sys.stderr.write("\n".join(told) + "\n")
    return 0


def _take_as_it_is(arguments: Namespace, directory: StateDirectory) -> int:
    from fairlead.embedded.store.restore import take_as_it_is

    taken = take_as_it_is(directory)
    if arguments.json:
        write_json({"lost": taken.lost, "rows": [*taken.rows], "unreadable": [*taken.unreadable]})
    else:
        sys.stderr.write("\n".join(_told(taken)) + "\n")
    return 0


def _told(taken: Taken) -> list[str]:
    told = [f"taken as it is: {row}" for row in taken.rows]
    told += [
        f"cannot be taken, it says nothing any more: {row}; only a backup can help"
        for row in taken.unreadable
    ]
    if taken.lost:
        told.append(f"the last {taken.lost} writes are lost; machines they made are named by `up`")
    return told or ["there was nothing wrong with it"]


def _not_in(backup: Backup) -> str:
    has_depot = any(name.startswith("hotfix/") for name in backup.files)
    return f"{NOT_IN_IT}; {NOT_OF_DEPOT}" if has_depot else NOT_IN_IT


def _says(backup: Backup) -> str:
    pools = [f"{pool} ({len(names)} machines)" for pool, names in backup.machines.items()]
    return (
        f"pools {', '.join(pools) or 'none'}; {', '.join(backup.files) or 'no file'}; "
        f"as of {backup.made_at}, by Fairlead {backup.version}"
    )


def _fields(backup: Backup) -> dict[str, object]:
    return {
        "made_at": backup.made_at,
        "version": backup.version,
        "number": backup.mark.number,
        "machines": {pool: [*names] for pool, names in backup.machines.items()},
        "files": [*backup.files],
    }
