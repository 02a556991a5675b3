"""One pass over one pool: the whole path on one page."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import Snapshot, World, observe
from fairlead.controller.think import think
from fairlead.controller.thought import Thought
from fairlead.inputs.leaf import Json
from fairlead.inputs.parse import API_VERSION
from fairlead.rollout.carry_out import Hands, carry_out
from fairlead.timeline.event import MACHINE_KINDS, creations_of


@dataclass(frozen=True, slots=True)
class Chance:
    """Where tokens and machine names are drawn from: an argument, so that a pass repeats."""

    draw_token: Callable[[], str]
    draw_name: Callable[[str], str]


def heard_by_nobody(_seen: Snapshot, _thought: Thought) -> None:
    """Hear of a thought, and do nothing about it."""


def reconcile(
    pool: str,
    world: World,
    chance: Chance,
    now: datetime,
    hear: Callable[[Snapshot, Thought], None] = heard_by_nobody,
) -> datetime | None:
    """
    Observe, think, carry out, record. Return when to look again, or None.

    hear: told what was seen and thought, before anything of it is done.

    Thinking is the pure path: revise the inputs, seed the record, decide, plan. Safe to repeat
    and safe to kill between any two writes: nothing is remembered that cannot be observed again.
    """
    seen, thought = _seen_and_thought(pool, world, now)
    hear(seen, thought)
    hands = Hands(
        pool=pool,
        machines=world.machines,
        secrets=world.secrets,
        stub=thought.stub,
        now=now,
        draw_token=chance.draw_token,
        draw_name=chance.draw_name,
    )
    carry_out(thought.first, hands)
    # Events before the record: their keys make a repeated pass add none, and a record that was
    # written first would hide what it should have told. The record before any machine moves: a
    # failure that was seen must be remembered before its machine is gone. Record and status are
    # one write: where writes are dear, both are parts of one object.
    early, late = _told_in_turn(thought)
    world.journal.append(early)
    if thought.record or (thought.status and not thought.is_over):
        world.pools.write_outcome(pool, thought.record, thought.status)
    made = carry_out(thought.then, hands)
    world.journal.append([*late, *creations_of(pool, made, thought.cause, now)])
    if thought.is_over:
        world.pools.forget_pool(pool)
    return thought.wake


def _told_in_turn(thought: Thought) -> tuple[list[Event], list[Event]]:
    """
    Return what is told before the steps that follow the record, and what is told after them.

    What happens to machines is told once the steps are done that do it, and a pool's end under the
    number that its record keeps. Where nothing is left to do, all of it is told with the record.
    """
    later = MACHINE_KINDS if thought.then or thought.is_over else ()
    early = [event for event in thought.events if event.kind not in later]
    return early, [event for event in thought.events if event.kind in later]


def preview(pool: str, world: World, now: datetime) -> Thought:
    """
    Return what the next pass does. Writes nothing.

    What was declared of a pool that leaves no longer matters: where it cannot be thought about,
    the pool leaves without it.
    """
    return _seen_and_thought(pool, world, now)[1]


def _seen_and_thought(pool: str, world: World, now: datetime) -> tuple[Snapshot, Thought]:
    seen = observe(pool, world)
    found = attempt(lambda: think(seen, now))
    if not isinstance(found, Failed):
        return seen, found
    if not seen.documents.is_leaving:
        raise found.error
    seen = replace(seen, documents=replace(seen.documents, pool=bare_pool()))
    return seen, think(seen, now)


def bare_pool() -> Json:
    """Return a document that declares nothing, its own name included: that may be the fault."""
    metadata = {"name": "pool"}
    return {"apiVersion": API_VERSION, "kind": "NodePool", "metadata": metadata, "spec": {}}
