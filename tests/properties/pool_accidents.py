"""What may happen to a pool from outside: by its owner, its machines, or somebody's hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from properties.pool_history import POOL

if TYPE_CHECKING:
    from properties.pool_history import WatchedWorld


def lose_secret(world: WatchedWorld, which: str) -> None:
    """Delete a secret by hand; the record still holds what it stood for."""
    revision = world.templates[POOL].revision
    store: dict[tuple[str, str], Any] = world.tokens if which == "token" else world.user_data
    store.pop((POOL, revision), None)


def spoil_payload(world: WatchedWorld) -> None:
    """The payload service cannot serve what the template names, and says so."""
    key = (POOL, world.templates[POOL].revision)
    if key in world.tokens:
        world.tokens[key] = replace(world.tokens[key], problem="an image is gone")


def leave(world: WatchedWorld) -> None:
    """The owner deletes the pool."""
    world.is_leaving = True
    world.declare()


def forget_record(world: WatchedWorld) -> None:
    """What an upgrade finds: templates, machines and secrets, and no record."""
    token = world.tokens.get((POOL, world.templates[POOL].revision))
    if token:
        world.records.pop(POOL, None)
        # The last force is in what the template names; earlier ones are forgotten with the record.
        world.given_force = {token.revision.force}
        world.given_resume.clear()


def reword(world: WatchedWorld) -> None:
    """Write the same document another way."""
    world.shuffled = not world.shuffled
    world.declare()


def resize(world: WatchedWorld, replicas: int) -> None:
    world.settings["replicas"] = replicas
    world.declare()


def with_label(world: WatchedWorld, value: str) -> None:
    world.settings["labels"] = {"team": value}
    world.declare()


def break_machine(world: WatchedWorld, which: int, how: str) -> None:
    """Let something happen to one machine."""
    staying = sorted(name for name, one in world.living.items() if not one.is_leaving)
    if not staying:
        return
    name = staying[which % len(staying)]
    if how == "fail":
        world.fail(name, "disk is gone")
    elif how == "lose":
        world.lose(name)
    elif how == "delete":
        world.delete(name)
    elif how == "stick":
        world.stuck.add(name)
    elif how == "problem":
        world.living[name] = replace(world.living[name], problem="blocked by a disruption budget")
