"""
What commands ask, wherever the answers come from: the control plane of this computer over its
socket (embedded/serve/client.py), or a cluster (kube/front/plane.py).

The answers have the same types, the errors are the same five.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from fairlead.answers.document import Json
from fairlead.answers.event import Events
from fairlead.answers.machine import MachineDetail, Machines
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolDetail, PoolHistory, Pools
from fairlead.answers.reply import (
    Applied,
    Done,
    Identity,
    Leaving,
    PatchedPlatform,
    PatchedPool,
    Platform,
    Proposed,
)

Fields = Mapping[str, Json]


class Questions(Protocol):
    """A control plane, as commands know it."""

    def whoami(self) -> Identity:
        """Return who asks, as the control plane sees them."""

    def pools(self) -> Pools:
        """Return every pool in short."""

    def pool(self, name: str) -> PoolDetail:
        """Return one pool in full."""

    def history(self, name: str) -> PoolHistory:
        """Return what a pool's owner declared, the oldest first."""

    def patch_pool(
        self, name: str, spec: Fields, plan: Plan | None = None, base: str = "", *, dry_run: bool
    ) -> PatchedPool:
        """Change fields of a pool, within the plan and for the document that were shown."""

    def delete_pool(self, name: str, shown: Leaving | None = None, *, dry_run: bool) -> Leaving:
        """Let a pool go, with all its machines, if they are those that were shown."""

    def platform(self) -> Platform:
        """Return what the platform adds on its own, and which pools lack it."""

    def patch_platform(self, spec: Fields, *, dry_run: bool) -> PatchedPlatform:
        """Change fields of the platform's document."""

    def plan(self, documents: Sequence[Json]) -> Proposed:
        """Return what documents would do."""

    def apply(self, documents: Sequence[Json], shown: Proposed, *, dry_run: bool) -> Applied:
        """Put documents in force, if that does what was shown."""

    def machines(self, pool: str = "", *, with_gone: bool = False) -> Machines:
        """Return machines, of one pool or of all."""

    def machine(self, name: str) -> MachineDetail:
        """Return one machine in full."""

    def delete_machine(self, name: str, *, force: bool = False) -> Done:
        """Tell a machine to leave; force: without waiting for its drain."""

    def events(
        self,
        pool: str = "",
        *,
        machine: str = "",
        since: datetime | None = None,
        limit: int | None = None,
    ) -> Events:
        """Return the latest events, the oldest first; of one pool or machine if that is asked."""
