"""
Pairs of secrets in SQLite. The file is private to its owner, as the tokens in it are.

The payload service finds a pair by the hash of a token, the present one or the one before; whether
it is still valid is for whoever asks.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.embedded.store.database import Store
from fairlead.errors import ConflictError
from fairlead.kept_text import render_value
from fairlead.rollout.secrets import TokenSecret, UserData, hashed


class StoredSecrets:
    """The SecretStore seam over one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        """Return the pool's token secrets."""
        return self._store.values(
            TokenSecret, "SELECT value FROM tokens WHERE pool = ? ORDER BY id", pool
        )

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        """Return the pool's user-data secrets."""
        return self._store.values(
            UserData, "SELECT value FROM user_data WHERE pool = ? ORDER BY id", pool
        )

    def find_by_token_hash(self, token_hash: str) -> TokenSecret | None:
        """Return the pair whose token, or the one before it, has this hash; or None."""
        return self._store.find_value(
            TokenSecret,
            "SELECT value FROM tokens WHERE token_hash = ? OR previous_hash = ?",
            token_hash,
            token_hash,
        )

    def find_token(self, pool: str, pair: str) -> TokenSecret | None:
        """Return the token secret of a pair, or None."""
        return self._store.find_value(
            TokenSecret, "SELECT value FROM tokens WHERE pool = ? AND id = ?", pool, pair
        )

    def create_token(self, secret: TokenSecret) -> None:
        """Keep the first token of a pair. Raises ConflictError if there is one."""
        if self.find_token(secret.pool, secret.id) is not None:
            raise ConflictError(f"the pair {secret.id} of {secret.pool} has a token")
        self.write_token(secret)

    def write_token(self, secret: TokenSecret) -> None:
        """Create or replace a token secret."""
        previous = hashed(secret.previous) if secret.previous else None
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO tokens (pool, id, token_hash, previous_hash, value) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (pool, id) DO UPDATE SET "
                "token_hash = excluded.token_hash, previous_hash = excluded.previous_hash, "
                "value = excluded.value",
                (secret.pool, secret.id, hashed(secret.token), previous, render_value(secret)),
            )

    def write_problem(self, pool: str, pair: str, problem: str) -> None:
        """Note why a pair cannot be served, or '' that it can. A pair that is gone has none."""
        secret = self.find_token(pool, pair)
        # Boots ask again and again: an answer that is known is no change.
        if secret is not None and secret.problem != problem:
            self.write_token(replace(secret, problem=problem))

    def write_user_data(self, secret: UserData) -> None:
        """Create or replace a user-data secret."""
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO user_data (pool, id, value) VALUES (?, ?, ?) "
                "ON CONFLICT (pool, id) DO UPDATE SET value = excluded.value",
                (secret.pool, secret.id, render_value(secret)),
            )

    def delete_token(self, pool: str, pair: str) -> None:
        """Delete a token secret; one that is not there is no error."""
        if self._store.rows("SELECT 1 FROM tokens WHERE pool = ? AND id = ?", pool, pair):
            with self._store.writing() as connection:
                connection.execute("DELETE FROM tokens WHERE pool = ? AND id = ?", (pool, pair))

    def delete_user_data(self, pool: str, pair: str) -> None:
        """Delete a user-data secret; one that is not there is no error."""
        if self._store.rows("SELECT 1 FROM user_data WHERE pool = ? AND id = ?", pool, pair):
            with self._store.writing() as connection:
                connection.execute("DELETE FROM user_data WHERE pool = ? AND id = ?", (pool, pair))
