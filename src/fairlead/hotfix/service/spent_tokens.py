"""Uses of join tokens, counted by all workers together, and also after a restart."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fairlead.errors import UnavailableError
from fairlead.hotfix.service.attestation.verifier import UnprovenError
from fairlead.hotfix.service.ledger_file import LedgerFile


class SpentInLedger:
    """Counts in the ledger of a depot. Raises UnprovenError where it cannot: nothing is given."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # Opened by whoever spends first: a database that is open must not live through a fork.
        self._file: LedgerFile | None = None

    def spend(self, nonce: str, uses: int, until: datetime) -> bool:
        """Take one away."""
        try:
            self._file = self._file or LedgerFile(self._directory)
            with self._file.writing() as db:
                db.execute("DELETE FROM spent WHERE until < ?", (datetime.now(UTC).timestamp(),))
                (count,) = db.execute(
                    "INSERT INTO spent VALUES (?, 1, ?) "
                    "ON CONFLICT (nonce) DO UPDATE SET uses = uses + 1 RETURNING uses",
                    (nonce, until.timestamp()),
                ).fetchone()
        except UnavailableError:
            raise UnprovenError("cannot be counted") from None
        return int(count) <= uses
