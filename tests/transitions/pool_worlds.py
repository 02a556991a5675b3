"""Worlds with one pool, called workers, that are settled by default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairlead.answers.pool import Condition
from fairlead.controller.observe import PoolDocuments, Resolved
from fairlead.controller.reconcile import preview
from fairlead.decision.decision import ReplaceMachines
from fairlead.inputs.leaf import Json
from fairlead.rollout.approval import Approval, approval_of
from fairlead.rollout.machines import Template
from fairlead.sim.world import SimWorld
from pool_documents import platform_document, pool_document

POOL = "workers"


def declare(world: SimWorld, pool: Json = None, platform: Json = None, **resolved: Any) -> None:
    """Declare documents; what is not given stays."""
    known = world.documents.get(POOL)
    world.documents[POOL] = PoolDocuments(
        pool=pool or (known.pool if known else pool_document()),
        platform=platform or (known.platform if known else platform_document()),
        resolved=Resolved(**resolved) if resolved else (known.resolved if known else Resolved()),
        is_leaving=bool(known and known.is_leaving),
        asked_by=known.asked_by if known else "",
    )


def fresh_world(edge: type[SimWorld] = SimWorld, **spec: Any) -> SimWorld:
    """A world in which the pool was declared and nothing has run."""
    world = edge()
    declare(world, pool_document(**spec))
    return world


def settled_world(edge: type[SimWorld] = SimWorld, **spec: Any) -> SimWorld:
    """A world in which the pool's machines run and nothing moves."""
    world = fresh_world(edge, **spec)
    world.settle()
    return world


def edit(world: SimWorld, **spec: Any) -> None:
    """Change fields of the pool's document."""
    document: Any = world.documents[POOL].pool
    merged = {**document["spec"], **spec}
    kept = {name: value for name, value in merged.items() if value is not None}
    declare(world, pool={**document, "spec": kept})


def edit_platform(world: SimWorld, **spec: Any) -> None:
    """Change fields of the platform's document."""
    document: Any = world.documents[POOL].platform
    declare(world, platform={**document, "spec": {**document["spec"], **spec}})


def drift(world: SimWorld, image: str = "cp@sha256:bb") -> None:
    """Change one platform input."""
    edit_platform(world, controlPlaneImage=image)


def approve(world: SimWorld) -> Approval:
    """Let the owner agree to what is shown now."""
    thought = preview(POOL, world.world(), world.clock.now)
    assert isinstance(thought.decision, ReplaceMachines)
    world.plans[POOL] = approval_of(thought.shown, thought.decision.wanted)
    return world.plans[POOL]


def condition(world: SimWorld, kind: str = "ConfigUpdatePending") -> tuple[str, str]:
    """Status and reason of one condition."""
    found = full_condition(world, kind)
    return found.status, found.reason


def full_condition(world: SimWorld, kind: str) -> Condition:
    return next(row for row in world.statuses[POOL].conditions if row.type == kind)


def state(world: SimWorld) -> str:
    return world.statuses[POOL].state.value


def names(world: SimWorld) -> list[str]:
    return sorted(world.living)


def template(world: SimWorld) -> Template:
    return world.templates[POOL]


def pairs(world: SimWorld) -> list[str]:
    return sorted(pair for _, pair in world.tokens)


def template_writes(world: SimWorld) -> int:
    return sum(kind == "template" for kind, _ in world.log)


def event_kinds(world: SimWorld) -> list[str]:
    return [event.kind.value for event in world.read_events(POOL)]


def forget_record(world: SimWorld) -> None:
    """What an upgrade from a controller without records finds."""
    del world.records[POOL]


def with_template(world: SimWorld, **changed: Any) -> None:
    world.templates[POOL] = replace(world.templates[POOL], **changed)
