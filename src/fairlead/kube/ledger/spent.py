"""
Uses of join tokens, counted by all replicas together, in objects of an API server.

A use counts when it is written. Where it cannot be, nobody is believed: also where SHARDS times
MOST_IN_SHARD tokens with a limited number of uses are neither spent nor over.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from fairlead.errors import UnavailableError
from fairlead.hotfix.service.attestation.verifier import UnprovenError
from fairlead.kube.client import KubeClient
from fairlead.kube.ledger.line import key_of
from fairlead.kube.ledger.shared_text import Form, SharedText

SHARDS = 64
MOST_IN_SHARD = 4000

# Uses and when the token ends, by nonce.
Spent = dict[str, tuple[int, float]]


class SpentInCluster:
    """Counts in one namespace. Raises UnprovenError where it cannot: nothing is given."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        form = Form(read=_read, write=_write)
        self._shards = [
            SharedText(client, namespace, f"spent-{number}", form) for number in range(SHARDS)
        ]

    def spend(self, nonce: str, uses: int, until: datetime) -> bool:
        """Take one away."""
        key, now = key_of(nonce), datetime.now(UTC).timestamp()
        shard = self._shards[sum(key.encode()) % SHARDS]

        def work(spent: Spent) -> bool | None:
            for old in [one for one, (_, end) in spent.items() if end < now]:
                del spent[old]
            count, _ = spent.get(key, (0, 0.0))
            if count >= uses:
                return False
            if key not in spent and len(spent) >= MOST_IN_SHARD:
                return None
            spent[key] = (count + 1, until.timestamp())
            return True

        try:
            if shard.problem:
                shard.look()
            is_left = shard.change(work)
        except UnavailableError:
            raise UnprovenError("cannot be counted") from None
        if is_left is None:
            raise UnprovenError("too many are counted")
        return is_left


def _read(text: str) -> Spent:
    try:
        return msgspec.json.decode(text, type=Spent) if text else {}
    except msgspec.MsgspecError as error:
        raise UnavailableError(f"uses of tokens that are damaged: {error}") from error


def _write(spent: Spent) -> str:
    return msgspec.json.encode(spent).decode() if spent else ""
