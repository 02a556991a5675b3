"""
Pools in SQLite: what is declared, what the controller remembers, what the owner sees.

The platform's document is kept as it was written; a pass reads it with this edge's own address
where the platform names none. Secrets are files beside the database (secret_files.py): a pass
sees their digests, and their content is read when a machine is served.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path

from fairlead.answers.pool import KeptDocument, PoolStatus
from fairlead.controller.observe import PoolDocuments, Resolved
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.secret_files import SecretFiles
from fairlead.errors import ConflictError, InputError, InvariantError
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Json, Leaves, Problem
from fairlead.inputs.parse import NO_PLATFORM, parse_platform_config
from fairlead.inputs.platform_inputs import Stub
from fairlead.kept_text import parse_document, render_document, render_value
from fairlead.payload.pool_secrets import PoolSecrets, put_secrets
from fairlead.rollout.approval import Approval
from fairlead.rollout.record import PoolRecord

# Fields of a pool that name a file, and what a person calls it.
SECRET_FIELDS = {"pullSecret": "pull secret", "trustBundle": "trust bundle"}

# What must be gone before its pool is.
_LEFT = (
    "SELECT name FROM machines WHERE pool = ? AND gone_at IS NULL "
    "UNION ALL SELECT 'token ' || id FROM tokens WHERE pool = ? "
    "UNION ALL SELECT 'user data ' || id FROM user_data WHERE pool = ?"
)


class StoredPools:
    """The Pools seam over one store. secrets: where files are that pools name."""

    def __init__(self, store: Store, secrets: Path, stub: Stub) -> None:
        self._store = store
        self._secrets = secrets
        self._files = SecretFiles(secrets)
        self._stub = stub
        self._stubs = 0

    def change_stub(self, stub: Stub) -> None:
        """Tell machines of another address or authority; every pool gets a pass for it."""
        if stub != self._stub:
            self._stub = stub
            self._stubs += 1

    # What is declared.

    def list_pools(self) -> tuple[str, ...]:
        """Return the names of all pools, sorted."""
        return tuple(row[0] for row in self._store.rows("SELECT pool FROM changes ORDER BY pool"))

    def markers(self) -> list[tuple[str, str]]:
        """
        Return every pool with a text that changes with any write about it or the platform.

        Files that pools name are looked at here: one that changed counts for all.
        """
        found = self._store.find_row("SELECT number FROM platform")
        return self._store.texts(
            "SELECT pool, born || '.' || number || '.' || ? FROM changes ORDER BY pool",
            f"{found[0] if found else 0}.{self._stubs}.{self._files.look()}",
        )

    def read_documents(self, pool: str) -> PoolDocuments:
        """Return what is declared. Raises InputError if there is no such pool, or it is damaged."""
        self._store.refuse_damaged(pool)
        row = self._store.find_row("SELECT document, is_leaving FROM pools WHERE name = ?", pool)
        if row is None:
            raise _no_pool(pool)
        document = parse_document(row["document"])
        return PoolDocuments(
            pool=document,
            platform=_with_stub(self.read_platform(), self._stub),
            resolved=self._resolve(document, self._files.seen),
            is_leaving=bool(row["is_leaving"]),
        )

    def documents_with(self, pool: Json, platform: Json) -> PoolDocuments:
        """Return what read_documents would, if these two were in force and looked at now."""
        return PoolDocuments(
            pool=pool,
            platform=_with_stub(platform, self._stub),
            resolved=self._resolve(pool, self._files.digest),
        )

    def write_pool(self, document: Json) -> None:
        """
        Declare a pool. What is equal to what is there changes nothing.

        Raises InputError if it is no NodePool, ConflictError while a pool of that name leaves.
        """
        self.write_pools([document])

    def write_pools(self, documents: Iterable[Json]) -> None:
        """Declare many pools: all of them, or none."""
        texts = {declared_pool(document).name: render_document(document) for document in documents}
        with self._store.writing() as connection:
            for name, text in texts.items():
                self._write_pool(connection, name, text)

    def _write_pool(self, connection: sqlite3.Connection, name: str, text: str) -> None:
        known = self._store.find_row("SELECT document, is_leaving FROM pools WHERE name = ?", name)
        if known is None:
            connection.execute("INSERT INTO pools (name, document) VALUES (?, ?)", (name, text))
        elif known["is_leaving"]:
            raise ConflictError(f"{name} is being deleted; declare it again once it is gone")
        elif known["document"] != text:
            connection.execute("UPDATE pools SET document = ? WHERE name = ?", (text, name))

    def request_deletion(self, pool: str) -> None:
        """Ask for the end of a pool: the controller lets its machines go, then forgets it."""
        if not self._store.rows("SELECT 1 FROM pools WHERE name = ?", pool):
            raise _no_pool(pool)
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE pools SET is_leaving = 1 WHERE name = ? AND NOT is_leaving", (pool,)
            )

    def forget_pool(self, pool: str) -> None:
        """
        Afterwards nothing of the pool is here but its events, and its machines that are gone.

        Forgetting what is not there is no error. Raises InvariantError while a machine or a secret
        of it is left: nobody would look after them.
        """
        if not self._store.rows("SELECT 1 FROM pools WHERE name = ?", pool):
            return
        with self._store.writing() as connection:
            left = self._store.find_row(_LEFT, pool, pool, pool)
            if left:
                raise InvariantError(f"{pool} is to be forgotten and still has {left[0]}")
            connection.execute("DELETE FROM pools WHERE name = ?", (pool,))

    def read_platform(self) -> Json:
        """Return the platform's document as it was written."""
        row = self._store.find_row("SELECT document FROM platform")
        return parse_document(row[0]) if row else dict(NO_PLATFORM)

    def write_platform(self, document: Json) -> None:
        """Declare the platform. Raises InputError by field."""
        parse_platform_config(document)
        text = render_document(document)
        if self._store.rows("SELECT 1 FROM platform WHERE document = ?", text):
            return
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO platform (only_row, number, document) VALUES (1, 1, ?) "
                "ON CONFLICT DO UPDATE SET number = number + 1, document = excluded.document",
                (text,),
            )

    def read_history(self, pool: str) -> tuple[KeptDocument, ...]:
        """Return the documents that were in force, the oldest first; the last one is."""
        rows = self._store.rows(
            "SELECT number, at, actor, document FROM documents WHERE pool = ? ORDER BY number", pool
        )
        return tuple(
            KeptDocument(
                number=row["number"],
                at=datetime.fromisoformat(row["at"]) if row["at"] else None,
                document=parse_document(row["document"]),
                actor=row["actor"],
            )
            for row in rows
        )

    # What the controller remembers, and what the owner sees.

    def find_record(self, pool: str) -> PoolRecord | None:
        """Return what the controller remembers, or None. Raises InputError if it is damaged."""
        self._store.refuse_damaged(pool)
        return self._store.find_value(PoolRecord, "SELECT value FROM records WHERE pool = ?", pool)

    def write_record(self, record: PoolRecord) -> None:
        """Replace the record."""
        self._replace("records", record.pool, record)

    def find_status(self, pool: str) -> PoolStatus | None:
        """Return what the owner sees, or None."""
        return self._store.find_value(PoolStatus, "SELECT value FROM statuses WHERE pool = ?", pool)

    def write_status(self, pool: str, status: PoolStatus) -> None:
        """Replace the status."""
        self._replace("statuses", pool, status)

    def write_outcome(
        self, pool: str, record: PoolRecord | None, status: PoolStatus | None
    ) -> None:
        """Replace record and status, both or neither; None leaves one as it is."""
        with self._store.writing():
            if record is not None:
                self.write_record(record)
            if status is not None:
                self.write_status(pool, status)

    def find_plan(self, pool: str) -> Approval | None:
        """Return the plan that the owner approved, or None."""
        return self._store.find_value(Approval, "SELECT value FROM plans WHERE pool = ?", pool)

    def write_plan(self, plan: Approval) -> None:
        """Replace the plan that the owner approved."""
        self._replace("plans", plan.pool, plan)

    def forget_plan(self, pool: str) -> None:
        """Afterwards no plan is approved."""
        if self._store.rows("SELECT 1 FROM plans WHERE pool = ?", pool):
            with self._store.writing() as connection:
                connection.execute("DELETE FROM plans WHERE pool = ?", (pool,))

    def _replace(self, table: str, pool: str, value: object) -> None:
        with self._store.writing() as connection:
            connection.execute(
                f"INSERT INTO {table} (pool, value) VALUES (?, ?) "  # noqa: S608 - one of three
                "ON CONFLICT (pool) DO UPDATE SET value = excluded.value",
                (pool, render_value(value)),
            )

    # What names point to.

    def read_secrets(self, leaves: Leaves) -> PoolSecrets:
        """Return the files that these leaves name, to be served and kept nowhere."""
        found: dict[str, bytes | None] = {}
        for field, says in SECRET_FIELDS.items():
            name = str(leaves.get(f"{field}.name", ""))
            try:
                found[field] = self._files.read(name) if name else None
            except (OSError, ValueError) as error:
                return PoolSecrets(problem=self._why_unread(name, says, error))
        return PoolSecrets(pull_secret=found["pullSecret"], trust_bundle=found["trustBundle"])

    def find_unfit_secret(self, pool: Json) -> Problem | None:
        """Return why a machine could not use a file that this document names, or None."""
        names = {f"{field}.name": _named_in(pool, field) for field in SECRET_FIELDS}
        secrets = self.read_secrets(names)
        try:
            put_secrets({}, secrets)
        except InputError as error:
            hint = f" ({error.hint})" if error.hint else ""
            return Problem(f"{error.field}.name", error.problem + hint) if error.field else None
        return None

    def _resolve(self, document: Json, digest_of: Callable[[str], str]) -> Resolved:
        found: dict[str, str] = {}
        for field, says in SECRET_FIELDS.items():
            name = _named_in(document, field)
            try:
                found[field] = digest_of(name) if name else ""
            except (OSError, ValueError) as error:
                problem = self._why_unread(name, says, error)
                return Resolved(problem=problem, field=f"spec.{field}.name")
        return Resolved(pull_secret=found["pullSecret"], trust_bundle=found["trustBundle"])

    def _why_unread(self, name: str, says: str, error: OSError | ValueError) -> str:
        if isinstance(error, OSError):
            path = self._secrets / Path(name).name
            return f"the {says} {name} cannot be read ({error.strerror}); write it to {path}"
        return f"{name!r} names no {says}: it must be a file's name"


def _named_in(document: Json, field: str) -> str:
    """Return the name in `spec.FIELD.name`, or ''. A document that is wrong there names nothing."""
    for name in ("spec", field, "name"):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document if isinstance(document, str) else ""


def _with_stub(platform: Json, stub: Stub) -> Json:
    """Return the platform's document with this stub where it names none of its own."""
    if not isinstance(platform, Mapping):
        return platform
    spec = platform.get("spec") or {}
    written = (spec.get("stub") or {}) if isinstance(spec, Mapping) else None
    if not isinstance(written, Mapping):
        return platform
    own = {field.name: getattr(stub, field.name) for field in fields(stub)}
    kept = {name: value for name, value in written.items() if value}
    return {**platform, "spec": {**spec, "stub": {**own, **kept}}}


def _no_pool(pool: str) -> InputError:
    return InputError(f"there is no pool {pool!r}")
