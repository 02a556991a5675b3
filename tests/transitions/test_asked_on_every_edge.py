"""What commands ask before machines are made or removed is the same on every edge."""

from typing import Any

import pytest

from fairlead.answers.plan import Plan
from fairlead.proposal.propose import propose
from fairlead.sim.deployment_world import DeploymentWorld
from fairlead.sim.world import SimWorld
from fairlead.telling.headline import headline_of
from fairlead.telling.question import question_about, scale_question
from pool_documents import pool_document
from transitions.pool_worlds import fresh_world, settled_world


@pytest.fixture(params=[SimWorld, DeploymentWorld])
def edge(request: pytest.FixtureRequest) -> type[SimWorld]:
    """Machines are made by our own steps, or by their edge as Cluster API does it."""
    found: type[SimWorld] = request.param
    return found


def plan_of(world: SimWorld, **spec: Any) -> Plan:
    [plan] = propose(world.world(), [pool_document(**spec)], world.clock.now).plans
    return plan


@pytest.mark.parametrize(
    ("replicas", "question"),
    [(50, ""), (51, "create 51 machines for workers?"), (300, "create 300 machines for workers?")],
)
def test_a_new_pool_of_more_than_fifty_machines_is_asked_about(
    edge: type[SimWorld], replicas: int, question: str
) -> None:
    plan = plan_of(edge(), replicas=replicas)

    assert (plan.is_new, plan.creates) == (True, replicas)
    assert headline_of(plan) == f"new pool, {replicas} machines will be created"
    assert question_about([plan]) == question


@pytest.mark.parametrize(
    ("replicas", "creates", "question"),
    [
        (3, 0, ""),
        (6, 3, ""),
        (7, 4, "add 4 machines to workers, which has 3?"),
        (60, 57, "add 57 machines to workers, which has 3?"),
        (2, 0, "remove 1 machine of workers?"),
    ],
)
def test_a_pool_that_more_than_doubles_or_shrinks_is_asked_about(
    edge: type[SimWorld], replicas: int, creates: int, question: str
) -> None:
    plan = plan_of(settled_world(edge), replicas=replicas)

    assert plan.creates == creates
    assert scale_question(plan) == question


def test_a_pool_whose_machines_are_about_to_be_made_is_not_new_twice(edge: type[SimWorld]) -> None:
    world = fresh_world(edge, replicas=60)
    world.one_pass()

    assert plan_of(world, replicas=60).creates == 0
