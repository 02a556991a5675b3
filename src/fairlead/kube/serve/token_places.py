"""
In which Secret a token is, by its hash.

Of the Secrets that changed since somebody asked, and of no others, tokens are read: a fleet has
thousands, and one of them changes whenever a machine boots or a token is drawn anew.
"""

from __future__ import annotations

import threading

from fairlead.kube.answer import Object
from fairlead.kube.informer import Key
from fairlead.kube.resource import SECRETS
from fairlead.kube.secrets import TOKEN_TYPE
from fairlead.kube.world import KubeWorld
from fairlead.rollout.secrets import hashed


class TokenPlaces:
    """The token Secrets of a world. Asked by several threads."""

    def __init__(self, world: KubeWorld) -> None:
        self._copies = world.copies
        self._tokens_in = world.secrets.tokens_in
        self._places: dict[str, set[Key]] = {}
        self._hashes: dict[Key, tuple[str, ...]] = {}
        self._reading = threading.Lock()
        # Noted by threads that follow the cluster, which wait for nobody that reads.
        self._changed: set[Key] = set()
        self._noting = threading.Lock()
        self._copies.follow_keys(SECRETS, self._note)

    def find(self, token_hash: str) -> Object | None:
        """Return the Secret of this token, the last one by name if there are several, or None."""
        with self._reading:
            for key in self._take_changed():
                self._read(key)
            place = max(self._places.get(token_hash, ()), default=None)
        return self._copies.find(SECRETS, *place) if place else None

    def _note(self, key: Key) -> None:
        with self._noting:
            self._changed.add(key)

    def _take_changed(self) -> set[Key]:
        with self._noting:
            changed, self._changed = self._changed, set()
        return changed

    def _read(self, key: Key) -> None:
        for one in self._hashes.pop(key, ()):
            places = self._places[one]
            places.discard(key)
            if not places:
                del self._places[one]
        found = self._copies.find(SECRETS, *key)
        if found is None or found.get("type") != TOKEN_TYPE:
            return
        # A token that is the one before as well is in here once.
        hashes = {hashed(token) for token in self._tokens_in(found)}
        self._hashes[key] = tuple(hashes)
        for one in hashes:
            self._places.setdefault(one, set()).add(key)
