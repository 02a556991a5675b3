"""Pairs of secrets in memory: the part of a simulated control plane that keeps them."""

from abc import ABC, abstractmethod

from fairlead.errors import ConflictError, InvariantError
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.rollout.served.pool_secrets import NOTHING_ADDED


class SimSecrets(ABC):
    """The secrets of every pool."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[tuple[str, str], TokenSecret] = {}
        self.user_data: dict[tuple[str, str], UserData] = {}
        # Those that a pool names are digests here, and have a size.
        self.added = NOTHING_ADDED

    @abstractmethod
    def _write(self, kind: str, detail: str) -> None:
        """Take note of a write before it is made; it may be cut off here."""

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        """Return the pool's token secrets."""
        return tuple(secret for (owner, _), secret in self.tokens.items() if owner == pool)

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        """Return the pool's user-data secrets."""
        return tuple(secret for (owner, _), secret in self.user_data.items() if owner == pool)

    def create_token(self, secret: TokenSecret) -> None:
        """Keep the first token of a pair."""
        if (secret.pool, secret.id) in self.tokens:
            raise ConflictError(f"the pair {secret.id} of {secret.pool} has a token")
        self.write_token(secret)

    def write_token(self, secret: TokenSecret) -> None:
        """Create or replace a token secret."""
        self._write("token", f"{secret.pool} {secret.id}")
        self.tokens[secret.pool, secret.id] = secret

    def write_user_data(self, secret: UserData) -> None:
        """Create or replace a user-data secret."""
        self._write("user data", f"{secret.pool} {secret.id}")
        self.user_data[secret.pool, secret.id] = secret

    def delete_token(self, pool: str, pair: str) -> None:
        """Delete a token secret."""
        if (pool, pair) in self.tokens:
            self._write("delete token", f"{pool} {pair}")
            del self.tokens[pool, pair]

    def delete_user_data(self, pool: str, pair: str) -> None:
        """Delete a user-data secret."""
        if (pool, pair) in self.user_data:
            self._write("delete user data", f"{pool} {pair}")
            del self.user_data[pool, pair]

    def need_pair(self, pool: str, pair: str) -> None:
        """Raise InvariantError if this pair is named and not there."""
        if (pool, pair) not in self.tokens or (pool, pair) not in self.user_data:
            raise InvariantError(f"the pair {pair} of {pool} is named and does not exist")
