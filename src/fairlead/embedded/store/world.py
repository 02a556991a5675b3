"""The embedded world: every seam of the controller over one store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from fairlead.controller.observe import Code, World
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.journal import StoredJournal
from fairlead.embedded.store.machine_tokens import StoredMachineTokens
from fairlead.embedded.store.machines import StoredMachines
from fairlead.embedded.store.pools import StoredPools
from fairlead.embedded.store.secrets import StoredSecrets
from fairlead.hotfix.published_fixes import PublishedFixes
from fairlead.inputs.platform_inputs import Stub
from fairlead.timeline.event import removal_of
from fairlead.zones import find_zone


class EmbeddedWorld:
    """
    The seams of one control plane.

    stub: where machines reach it, unless the platform says otherwise. kind: what machines that
    are made from here on are.
    """

    def __init__(
        self,
        store: Store,
        directory: StateDirectory,
        stub: Stub,
        now: Callable[[], datetime],
        *,
        kind: str = "directory",
    ) -> None:
        self.store = store
        self.code = Code(find_zone=find_zone)
        self.pools = StoredPools(store, directory.secrets, stub)
        self.machines = StoredMachines(store, now, kind)
        self.machine_tokens = StoredMachineTokens(store)
        self.secrets = StoredSecrets(store)
        self.journal = StoredJournal(store)
        self.fixes = PublishedFixes(directory.path / "hotfix")

    def is_untouched(self) -> bool:
        """Say whether nothing was ever declared here, not even by somebody who took it back."""
        return not any(
            self.store.rows(f"SELECT 1 FROM {table} LIMIT 1")  # noqa: S608 - one of four
            for table in ("pools", "platform", "machines", "events WHERE pool <> ''")
        )

    def let_go(self, name: str, now: datetime) -> None:
        """Note that nothing of a machine is left, and tell it; once."""
        with self.store.writing():
            self.machines.mark_gone(name)
            stored = self.machines.find_machine(name)
            if stored is not None:
                self.journal.append([removal_of(stored.machine, now)])

    def world(self) -> World:
        """Return this world as the controller sees it."""
        return World(
            pools=self.pools,
            machines=self.machines,
            secrets=self.secrets,
            journal=self.journal,
            code=self.code,
            read_fixes=self.fixes.read,
        )
