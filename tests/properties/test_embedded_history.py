"""The thirteen invariants over random histories, with every seam in SQLite and restarts between."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from conformance.stored_world import StoredWorld
from properties.pool_history import WatchedWorld
from properties.test_rollout_invariants import FEW, PoolHistory


class WatchedStoredWorld(WatchedWorld, StoredWorld):
    """Watches the seams of the embedded store: WatchedWorld stands before it."""

    def crashed_pass(self, after: int) -> None:
        super().crashed_pass(after)
        self.close_copies()


class EmbeddedHistory(PoolHistory):
    """One pool in an embedded store."""

    @initialize(in_place=st.booleans())
    def begin(self, in_place: bool) -> None:
        self.stored = WatchedStoredWorld(in_place=in_place)
        self.world = self.stored
        self.world.watched_pass()

    @rule()
    def restart(self) -> None:
        self.stored.restart()

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            if hasattr(self, "stored"):
                self.stored.close()


def test_the_invariants_hold_in_an_embedded_store() -> None:
    run_state_machine_as_test(EmbeddedHistory, settings=settings(FEW, max_examples=20))


@pytest.mark.slow
def test_the_invariants_hold_in_an_embedded_store_over_many_histories() -> None:
    run_state_machine_as_test(EmbeddedHistory, settings=settings(FEW, max_examples=300))
