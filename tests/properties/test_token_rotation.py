"""Whatever becomes of a pair, in any order and however late: a token that ended stays ended."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.carry_out import Hands, carry_out
from fairlead.rollout.secrets import Need, is_valid, plan_secrets
from fairlead.sim.world import ControllerKilledError, SimWorld
from pool_documents import make_revision

POOL, PAIR = "workers", "p1"
NEED = Need(make_revision(), make_revision())

# A pair's life is 11 hours and its grace 2, so most of these hit an edge of one of them.
MINUTES = st.sampled_from([0, 1, 59, 60, 119, 120, 121, 329, 330, 331, 659, 660, 661, 2000])
PASSES = st.lists(st.tuples(MINUTES, st.booleans(), st.integers(0, 3)), min_size=2, max_size=12)


class Pair:
    """One pair over time, and what is known of every token that it ever had."""

    def __init__(self) -> None:
        self.world = SimWorld()
        self.given: set[str] = set()
        self.ended: set[str] = set()

    def one_pass(self, *, is_needed: bool, killed_after: int) -> None:
        """Make the pass that a controller would, cut off after so many writes; 0 is a whole one."""
        world = self.world
        plan = plan_secrets(
            {secret.id: secret for secret in world.list_tokens(POOL)},
            {secret.id: secret for secret in world.list_user_data(POOL)},
            {PAIR: NEED} if is_needed else {},
            Stub(),
            world.clock.now,
        )
        chance = world.chance()
        hands = Hands(
            pool=POOL,
            machines=world,
            secrets=world,
            stub=Stub(),
            now=world.clock.now,
            draw_token=chance.draw_token,
            draw_name=chance.draw_name,
        )
        world.crash_at = world.writes + killed_after if killed_after else None
        try:
            carry_out([*plan.before, *plan.after], hands)
        except ControllerKilledError:
            pass
        finally:
            world.crash_at = None

    def look(self) -> None:
        """Note which tokens are good at this moment, and refuse one that came back."""
        secrets = self.world.list_tokens(POOL)
        self.given |= {token for one in secrets for token in (one.token, one.previous) if token}
        good = {
            token
            for token in self.given
            if any(is_valid(secret, token, self.world.clock.now) for secret in secrets)
        }
        assert not good & self.ended, "a token that had ended is good again"
        self.ended |= self.given - good


@given(PASSES)
def test_no_pass_brings_back_a_token_that_ended(passes: list[tuple[int, bool, int]]) -> None:
    pair = Pair()
    for minutes, is_needed, killed_after in passes:
        pair.world.clock.advance(timedelta(minutes=minutes))
        pair.look()
        pair.one_pass(is_needed=is_needed, killed_after=killed_after)
        pair.look()


@given(PASSES)
def test_a_pass_that_needs_a_pair_leaves_user_data_with_a_good_token(
    passes: list[tuple[int, bool, int]],
) -> None:
    pair = Pair()
    for minutes, is_needed, killed_after in passes:
        pair.world.clock.advance(timedelta(minutes=minutes))
        pair.one_pass(is_needed=is_needed, killed_after=killed_after)
    pair.one_pass(is_needed=True, killed_after=0)

    (secret,) = pair.world.list_tokens(POOL)
    (written,) = pair.world.list_user_data(POOL)
    assert is_valid(secret, written.token, pair.world.clock.now)
