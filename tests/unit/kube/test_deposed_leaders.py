"""What an operator deletes that leads no more is refused, or made again where machines need it."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.errors import ConflictError
from fairlead.kube.operator import chance
from fairlead.kube.resource import MACHINE_DEPLOYMENTS, MACHINE_SETS, NODE_REVISIONS, SECRETS
from fairlead.rollout.carry_out import Hands, carry_out
from fairlead.rollout.step import DeletePair
from unit.kube.one_operator import POOL, STUB, TEMPLATES, OneOperator, one_operator
from unit.kube.small_server import Reply

WELL: Reply = (200, {}, False)


@pytest.fixture
def made() -> Iterator[OneOperator]:
    """A pool that was carried out, as far as an operator can."""
    with one_operator() as one:
        one.declare()
        one.passes(3)
        one.operator.world.copies.look()
        yield one


def pair_of(one: OneOperator) -> str:
    found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
    assert found is not None
    told = str(found["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"])
    return told.removeprefix("user-data-workers-")


def touch(one: OneOperator, resource: Any, name: str) -> None:
    """Let somebody else write an object."""
    found = one.server.get(resource, name)
    assert found is not None
    metadata = {**found["metadata"], "annotations": {"needed": "again"}}
    one.server.put(resource, name, **{**found, "metadata": metadata})


def delete_pair(one: OneOperator, pair: str) -> None:
    world = one.operator.world
    drawn = chance()
    hands = Hands(
        pool=POOL,
        machines=world.machines,
        secrets=world.secrets,
        stub=STUB,
        now=one.now,
        draw_token=drawn.draw_token,
        draw_name=drawn.draw_name,
    )
    carry_out([DeletePair(pair)], hands)


def copies_of_template(one: OneOperator) -> list[str]:
    start = TEMPLATES.path("a", "workers-")
    return [path for path in one.server.objects if path.startswith(start)]


def test_a_pair_that_somebody_revived_meanwhile_stays_whole(made: OneOperator) -> None:
    pair = pair_of(made)
    touch(made, SECRETS, f"token-workers-{pair}")

    with pytest.raises(ConflictError):
        delete_pair(made, pair)

    assert made.server.get(SECRETS, f"token-workers-{pair}")
    assert made.server.get(SECRETS, f"user-data-workers-{pair}")
    assert len(copies_of_template(made)) == 1


def test_user_data_that_somebody_wrote_meanwhile_stays(made: OneOperator) -> None:
    pair = pair_of(made)
    touch(made, SECRETS, f"user-data-workers-{pair}")

    with pytest.raises(ConflictError):
        made.operator.world.secrets.delete_user_data(POOL, pair)

    assert made.server.get(SECRETS, f"user-data-workers-{pair}")


def test_a_revision_that_somebody_wrote_meanwhile_stays(made: OneOperator) -> None:
    name = f"workers-{pair_of(made)}"
    touch(made, NODE_REVISIONS, name)

    with pytest.raises(ConflictError):
        made.operator.world.revisions.let_go(POOL, set())

    assert made.server.get(NODE_REVISIONS, name)


def test_what_nobody_touched_goes_with_the_copy_of_its_template(made: OneOperator) -> None:
    pair = pair_of(made)

    delete_pair(made, pair)
    made.operator.world.revisions.let_go(POOL, set())

    left = [path for path in made.server.objects if pair in path]
    assert left == []


def test_a_copy_of_a_template_that_was_made_again_stays(made: OneOperator) -> None:
    (path,) = copies_of_template(made)
    name = path.rpartition("/")[2]

    def made_again(method: str, asked: str, _headers: dict[str, str]) -> Reply:
        if method == "DELETE" and asked == path:
            made.server.remove(TEMPLATES, name)
            made.server.put(TEMPLATES, name, spec={"size": "small"})
        return WELL

    made.server.reply = made_again
    with pytest.raises(ConflictError):
        made.operator.world.secrets.delete_user_data(POOL, pair_of(made))

    assert copies_of_template(made) == [path]


def have_set(one: OneOperator, replicas: int) -> None:
    """Have a set that is to have two machines, and has so many."""
    told = {"dataSecretName": f"user-data-workers-{pair_of(one)}"}
    spec = {"replicas": 2, "template": {"spec": {"bootstrap": told}}}
    metadata = {"labels": {"fairlead.dev/pool": "workers"}}
    status = {"replicas": replicas}
    one.server.put(MACHINE_SETS, "workers-x", metadata=metadata, spec=spec, status=status)


def test_a_copy_of_a_template_that_is_gone_is_made_again_for_machines(made: OneOperator) -> None:
    (path,) = copies_of_template(made)
    have_set(made, replicas=1)
    del made.server.objects[path]

    assert made.passes(2) == [("POST", path.rpartition("/")[0])]

    assert copies_of_template(made) == [path]
    assert made.server.objects[path]["spec"] == {"size": "small"}


def test_a_copy_is_made_again_before_cluster_api_made_a_set_of_it(made: OneOperator) -> None:
    (path,) = copies_of_template(made)
    del made.server.objects[path]
    found = made.server.get(MACHINE_DEPLOYMENTS, "workers")
    assert found is not None
    looked_at = {"conditions": [{"type": "Available", "status": "False"}]}
    made.server.put(MACHINE_DEPLOYMENTS, "workers", **{**found, "status": looked_at})

    made.passes()

    assert copies_of_template(made) == [path]


def test_a_template_that_is_written_again_has_its_copy(made: OneOperator) -> None:
    (path,) = copies_of_template(made)
    del made.server.objects[path]
    made.declare(generation=2, replicas=3)

    made.passes()

    assert copies_of_template(made) == [path]


def test_a_provider_is_asked_nothing_while_every_machine_is_there(made: OneOperator) -> None:
    have_set(made, replicas=2)
    made.server.asked.clear()

    assert made.passes(2) == []

    assert [path for _, path in made.server.asked if "smalltemplates" in path] == []
