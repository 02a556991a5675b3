"""
A control plane as a backup has it, or as what is left of it is.

Both are declared acts. The watermark goes first: cut off anywhere later, the control plane does
not start, and the restore can be done again. No machine is touched.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from fairlead.answers.event import Event
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolStatus
from fairlead.answers.words import Fault
from fairlead.embedded.state_directory import SQLITE_ENDS, StateDirectory
from fairlead.embedded.store.backup import Backup, is_kept, read_backup, unpack_database
from fairlead.embedded.store.check import called, find_findings, has_ledger
from fairlead.embedded.store.claim import claim, is_ours
from fairlead.embedded.store.lock import let_go, take_lock
from fairlead.embedded.store.migrations import read_migrations, refuse_later_version
from fairlead.embedded.store.seals import Row, find_changed, seal_everything
from fairlead.embedded.store.watermark import Mark, draw_mark, find_mark, write_mark
from fairlead.errors import ConflictError, InputError
from fairlead.kept_text import parse_document, parse_value
from fairlead.rollout.machines import Machine, Template
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.whole_file import write_whole

# What the texts of each table are, so that only rows are taken as they are that can be read.
_KINDS: Mapping[str, type] = {
    "records": PoolRecord,
    "statuses": PoolStatus,
    "plans": Plan,
    "templates": Template,
    "tokens": TokenSecret,
    "user_data": UserData,
    "machines": Machine,
    "events": Event,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """
    What was taken as it is.

    lost: how many writes are missing at its end. rows: those that changed by themselves.
    unreadable: those that cannot be taken, because they say nothing any more.
    """

    lost: int
    rows: tuple[str, ...]
    unreadable: tuple[str, ...]


def restore(file: Path, directory: StateDirectory, *, over: bool) -> Backup:
    """
    Put a backup in force; return what it holds. over: also where a control plane was.

    The database that was there stays beside the new one. Raises InputError if the backup is not
    good, ConflictError if a control plane runs here, or was here and `over` is not said.
    """
    backup = read_backup(file)
    if is_ours(directory) and not over:
        raise ConflictError(
            f"{directory.path} holds a control plane already; --over puts the backup in its place"
        )
    with _held(directory):
        write_mark(directory.watermark, backup.mark)
        for end in ("", *SQLITE_ENDS):
            _put_aside(directory, end)
        for name, content in backup.files.items():
            _write_file(directory, name, content)
        half = directory.path / f".restore.{os.urandom(4).hex()}.fairlead-half"
        unpack_database(file, half)
        half.replace(directory.database)
    return backup


def take_as_it_is(directory: StateDirectory) -> Taken:
    """
    Take what is left of a database for the truth; return what was wrong with it.

    Raises InputError if its structure is damaged, ConflictError if a control plane runs here.
    """
    if not directory.database.exists():
        raise InputError(f"there is no database {directory.database}")
    with _held(directory), _opened(directory.database) as connection:
        refuse_later_version(connection, read_migrations())
        findings = find_findings(connection)
        if findings != ["ok"]:
            raise InputError(
                f"the structure of {directory.database} is damaged: {findings[0]}",
                hint="only a backup can help: fairlead restore FILE --over",
            )
        if not has_ledger(connection):
            raise InputError(f"{directory.database} was never sealed; `fairlead up` does it")
        noted = _noted_number(directory)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            taken, mark = _take(connection, noted)
        write_mark(directory.watermark, mark)
    return taken


def _take(connection: sqlite3.Connection, noted: int) -> tuple[Taken, Mark]:
    row = connection.execute("SELECT database, number FROM ledger").fetchone()
    found = Mark(str(row[0]), int(row[1])) if row else draw_mark()
    changed = find_changed(connection)
    unreadable = [row for row in changed if not is_readable(row)]
    mark = replace(found, number=max(found.number, noted) + 1)
    connection.execute("DELETE FROM ledger")
    connection.execute(
        "INSERT INTO ledger VALUES (1, ?, ?, 0)",
        (mark.database, mark.number),
    )
    seal_everything(connection, but=unreadable)
    taken = Taken(
        lost=max(noted - found.number, 0),
        rows=tuple(called(row) for row in changed if row not in unreadable),
        unreadable=tuple(called(row) for row in unreadable),
    )
    return taken, mark


def is_readable(row: Row) -> bool:
    """Say whether a row that changed by itself still says something."""
    kind = _KINDS.get(row.table)
    try:
        if kind is not None:
            parse_value(kind, row.text("value"))
        if "document" in row.columns:
            parse_document(row.text("document"))
        if row.table == "machines":
            Fault(row.text("fault"))
            for column in ("gone_at", "powered_at"):
                if row.text(column):
                    datetime.fromisoformat(row.text(column))
    except (InputError, ValueError):
        return False
    return True


def _noted_number(directory: StateDirectory) -> int:
    try:
        mark = find_mark(directory.watermark)
    except InputError:
        return 0
    return mark.number if mark else 0


@contextmanager
def _held(directory: StateDirectory) -> Iterator[None]:
    claim(directory)
    lock = take_lock(directory)
    try:
        yield
    finally:
        let_go(lock)


@contextmanager
def _opened(database: Path) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(database, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(
            f"the database {database} cannot be used: {error}",
            hint="only a backup can help: fairlead restore FILE --over",
        ) from error


def _put_aside(directory: StateDirectory, end: str) -> None:
    old = directory.database.with_name(directory.database.name + end)
    aside = directory.replaced_database
    aside = aside.with_name(aside.name + end)
    aside.unlink(missing_ok=True)
    if old.exists():
        old.replace(aside)


def _write_file(directory: StateDirectory, name: str, content: bytes) -> None:
    # The names are in a file that somebody hands over; they must lead nowhere else.
    is_plain = name.rpartition("/")[2] not in ("", ".", "..") and "\0" not in name
    file = directory.path / name
    if not is_plain or ".." in file.parts or not is_kept(directory, file):
        raise InputError(f"the backup holds a file {name!r}, which no control plane has")
    if file.is_relative_to(directory.hotfix):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(file, content)
