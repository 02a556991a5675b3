"""
Pools in SQLite: what is declared, what the controller remembers, what the owner sees.

The platform's document is kept as it was written; a pass reads it with this edge's own address
where the platform names none. Secrets are files beside the database (secret_files.py): a pass
sees their digests and whether machines could use them; their content is read when one is served.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from fairlead.answers.pool import KeptDocument, PoolStatus
from fairlead.controller.observe import PoolDocuments, Resolved
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.secret_files import NO_CONTENT, SECRET_FIELDS, Content, SecretFiles
from fairlead.errors import ConflictError, InputError, InvariantError
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Json, Leaves, Problem
from fairlead.inputs.parse import NO_PLATFORM, parse_platform_config
from fairlead.inputs.platform_inputs import Stub, with_stub
from fairlead.kept_text import parse_document, render_document, render_value
from fairlead.rollout.approval import Approval
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.served.pool_secrets import Added, PoolSecrets, named_in, put_secrets

# What must be gone before its pool is.
_LEFT = (
    "SELECT name FROM machines WHERE pool = ? AND gone_at IS NULL "
    "UNION ALL SELECT 'token ' || id FROM tokens WHERE pool = ? "
    "UNION ALL SELECT 'user data ' || id FROM user_data WHERE pool = ?"
)

# Who asked for the document in force; or, once the pool is to go, who asked for that.
_DECLARED = """
SELECT document, is_leaving, CASE WHEN is_leaving THEN (
    SELECT json_extract(value, '$.actor') FROM events
    WHERE pool = name AND key >= 'PoolDeletionAsked:' AND key < 'PoolDeletionAsked;'
    ORDER BY number DESC LIMIT 1
) ELSE (
    SELECT actor FROM documents WHERE pool = name ORDER BY number DESC LIMIT 1
) END AS asked_by FROM pools WHERE name = ?
"""

_BY = """
UPDATE documents SET actor = ?1 WHERE pool = ?2
AND number = (SELECT max(number) FROM documents WHERE pool = ?2)
"""


class StoredPools:
    """The Pools seam over one store. secrets: where files are that pools name."""

    def __init__(self, store: Store, secrets: Path, stub: Stub) -> None:
        self._store = store
        self._secrets = secrets
        self._files = SecretFiles(secrets)
        self._stub = stub
        self._stubs = 0
        self._platform: tuple[object, Json] = (None, None)

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

        Files that pools name are looked at here: one that changed counts for all, and so does
        damage that was found.
        """
        found = self._store.find_row("SELECT number FROM platform")
        return self._store.texts(
            "SELECT pool, born || '.' || number || '.' || ? FROM changes ORDER BY pool",
            f"{found[0] if found else 0}.{self._stubs}.{self._files.look()}.{self._store.found}",
        )

    def read_documents(self, pool: str) -> PoolDocuments:
        """Return what is declared. Raises InputError if there is no such pool, or it is damaged."""
        self._store.refuse_damaged(pool)
        row = self._store.find_row(_DECLARED, pool)
        if row is None:
            raise _no_pool(pool)
        document = parse_document(row["document"])
        return PoolDocuments(
            pool=document,
            platform=self._platform_with_stub(),
            resolved=self._resolve(document, self._files.seen),
            is_leaving=bool(row["is_leaving"]),
            asked_by=row["asked_by"] or "",
        )

    def documents_with(self, pool: Json, platform: Json) -> PoolDocuments:
        """Return what read_documents would, if these two were in force and looked at now."""
        return PoolDocuments(
            pool=pool,
            platform=with_stub(platform, self._stub),
            resolved=self._resolve(pool, self._files.present),
        )

    def write_pool(self, document: Json, actor: str = "") -> None:
        """
        Declare a pool. What is equal to what is there changes nothing. actor: who asks for it.

        Raises InputError if it is no NodePool, ConflictError while a pool of that name leaves.
        """
        self.write_pools([document], actor)

    def write_pools(self, documents: Iterable[Json], actor: str = "") -> None:
        """Declare many pools: all of them, or none."""
        texts = {declared_pool(document).name: render_document(document) for document in documents}
        with self._store.writing() as connection:
            for name, text in texts.items():
                if self._write_pool(connection, name, text) and actor:
                    connection.execute(_BY, (actor, name))

    def _write_pool(self, connection: sqlite3.Connection, name: str, text: str) -> bool:
        """Say whether it says anything new."""
        known = self._store.find_row("SELECT document, is_leaving FROM pools WHERE name = ?", name)
        if known is None:
            connection.execute("INSERT INTO pools (name, document) VALUES (?, ?)", (name, text))
        elif known["is_leaving"]:
            raise ConflictError(f"{name} is being deleted; declare it again once it is gone")
        elif known["document"] != text:
            connection.execute("UPDATE pools SET document = ? WHERE name = ?", (text, name))
        else:
            return False
        return True

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

    def _platform_with_stub(self) -> Json:
        """Return the platform's document for a pass. One read serves all pools between writes."""
        written = (self._store.changes, self._stubs)
        if self._platform[0] != written:
            self._platform = written, with_stub(self.read_platform(), self._stub)
        return self._platform[1]

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
        names = {f"{field}.name": named_in(pool, field) for field in SECRET_FIELDS}
        secrets = self.read_secrets(names)
        try:
            put_secrets({}, secrets)
        except InputError as error:
            hint = f" ({error.hint})" if error.hint else ""
            return Problem(f"{error.field}.name", error.problem + hint) if error.field else None
        return None

    def _resolve(self, document: Json, content_of: Callable[[str], Content]) -> Resolved:
        found: dict[str, Content] = {}
        for field, says in SECRET_FIELDS.items():
            name, problem = named_in(document, field), ""
            try:
                content = content_of(name) if name else None
            except (OSError, ValueError) as error:
                content, problem = None, self._why_unread(name, says, error)
            if content and (why := content.unfit.get(field)):
                problem = f"the {says} {name} {why}; write another to {self._secrets / name}"
            if problem:
                return Resolved(problem=problem, field=f"spec.{field}.name")
            found[field] = content or NO_CONTENT
        return Resolved(
            pull_secret=found["pullSecret"].digest,
            trust_bundle=found["trustBundle"].digest,
            added=Added(
                pull_secret=found["pullSecret"].served.get("pullSecret", 0),
                trust_bundle=found["trustBundle"].served.get("trustBundle", 0),
            ),
        )

    def _why_unread(self, name: str, says: str, error: OSError | ValueError) -> str:
        if isinstance(error, OSError):
            path = self._secrets / Path(name).name
            return f"the {says} {name} cannot be read ({error.strerror}); write it to {path}"
        return f"{name!r} names no {says}: it must be a file's name"


def _no_pool(pool: str) -> InputError:
    return InputError(f"there is no pool {pool!r}")
