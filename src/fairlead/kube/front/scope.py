"""Which part of a cluster a command is about, and what pools are called there."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.kube.names import pool_of, split


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """
    A namespace, or all of them as they are called from there.

    home: the namespace of the operator, whose PlatformConfig counts where a namespace has none.
    """

    namespace: str
    home: str
    is_all: bool = False

    @property
    def listed(self) -> str:
        """The namespace that objects are listed in; '' is all of them."""
        return "" if self.is_all else self.namespace

    def whole(self, pool: str) -> str:
        """Return NAMESPACE/NAME of a pool, as the operator calls it."""
        return pool if "/" in pool else pool_of(self.namespace, pool)

    def told(self, pool: str) -> str:
        """Return what a pool is called here: by its name alone in the scope's own namespace."""
        namespace, name = split(pool)
        return name if namespace == self.namespace else pool
