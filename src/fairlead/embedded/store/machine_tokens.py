"""
The tokens of machines in SQLite: one for each, that of its last boot, and only as a hash.

A machine that was booting when this table came has a row without a hash: it was given the token
of its pair, and goes on with it until it has reported or is given power again.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime

from fairlead.embedded.store.database import Store
from fairlead.payload.bearer import MachineToken

_FOUND = "SELECT machine, pair, token_hash, issued_at, expires_at, said FROM machine_tokens "


class StoredMachineTokens:
    """What machines of one store prove themselves with."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find_by_hash(self, token_hash: str) -> MachineToken | None:
        """Return the token that has this hash, or None."""
        row = self._store.find_row(_FOUND + "WHERE token_hash = ?", token_hash)
        return _machine_token(row) if row else None

    def find_unnamed(self, machine: str) -> MachineToken | None:
        """Return what is known of a machine that boots with the token of its pair, or None."""
        row = self._store.find_row(_FOUND + "WHERE machine = ? AND token_hash IS NULL", machine)
        return _machine_token(row) if row else None

    def write(self, token: MachineToken) -> None:
        """Give a machine this token; the one that it had is known no longer."""
        with self._store.writing() as connection:
            connection.execute(
                "REPLACE INTO machine_tokens "
                "(machine, pair, token_hash, issued_at, expires_at, said) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    token.machine,
                    token.pair,
                    token.token_hash,
                    token.issued_at.isoformat(),
                    token.expires_at.isoformat(),
                    token.said,
                ),
            )

    def spend(self, machine: str, said: str) -> None:
        """Note the digest of the report that a machine's token dies with, once."""
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE machine_tokens SET said = ? WHERE machine = ? AND said = ''",
                (said, machine),
            )


def _machine_token(row: sqlite3.Row) -> MachineToken:
    return MachineToken(
        machine=row["machine"],
        pair=row["pair"],
        token_hash=row["token_hash"] or "",
        issued_at=datetime.fromisoformat(row["issued_at"]),
        expires_at=datetime.fromisoformat(row["expires_at"]),
        said=row["said"],
    )
