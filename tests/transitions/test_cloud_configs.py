"""New machines boot with the cloud configuration of now; nothing else that is held reaches them."""

import json
from typing import Any

from fairlead.sim.world import SimWorld
from transitions.pool_worlds import (
    POOL,
    edit,
    edit_platform,
    full_condition,
    names,
    settled_world,
    template,
    template_writes,
)

OLD, NEW = {"zone": "a", "subnet": "10.0.0.0/24"}, {"zone": "b", "subnet": "10.1.0.0/24"}


def cloud_world() -> SimWorld:
    world = settled_world()
    edit_platform(world, cloudConfig=OLD)
    edit(world, imageBase="202609.01")
    world.settle()
    return world


def served(world: SimWorld) -> Any:
    """The node config that a machine would be given now."""
    return json.loads(world.tokens[POOL, template(world).revision].served.node_config)


def test_a_new_machine_gets_the_new_cloud_config_and_nothing_else_that_is_held() -> None:
    world = cloud_world()
    before, writes, config = names(world), template_writes(world), served(world)

    edit_platform(world, cloudConfig=NEW, proxy={"image": "haproxy@sha256:bb", "template": "v2"})
    edit(world, replicas=4)
    world.settle()

    assert served(world) == {**config, "fairlead": {**config["fairlead"], "cloudConfig": NEW}}
    assert set(before) < set(names(world))
    assert template_writes(world) == writes
    [new] = set(names(world)) - set(before)
    assert world.living[new].revision == template(world).revision
    assert world.living[new].booted != template(world).revision, "it is told apart"


def test_the_change_is_held_and_told_with_who_gets_it() -> None:
    world = cloud_world()

    edit_platform(world, cloudConfig=NEW)
    world.settle()
    alone = full_condition(world, "ConfigUpdatePending").message
    edit_platform(world, cloudConfig=NEW, controlPlaneImage="cp@sha256:bb")
    world.settle()
    beside = full_condition(world, "ConfigUpdatePending").message

    assert "platform.cloudConfig" in alone
    assert alone.endswith("no machine will be replaced, new machines get it.")
    assert beside.endswith(
        "new machines get platform.cloudConfig and boot like their siblings otherwise."
    )


def test_it_is_written_once_and_taken_back_with_the_change() -> None:
    world = cloud_world()
    config = served(world)
    edit_platform(world, cloudConfig=NEW)
    world.settle()

    assert world.one_pass(POOL) == 0
    edit_platform(world, cloudConfig=OLD)
    world.settle()
    assert served(world) == config


def test_a_cloud_config_that_is_gone_is_gone_for_new_machines() -> None:
    world = cloud_world()

    edit_platform(world, cloudConfig=None)
    world.settle()

    assert "cloudConfig" not in served(world)["fairlead"]


def test_a_rollout_under_way_gives_all_its_machines_the_same() -> None:
    world = cloud_world()
    edit(world, imageBase="202609.02")
    world.one_pass(POOL)
    edit_platform(world, cloudConfig=NEW)

    world.one_pass(POOL)

    assert served(world)["fairlead"]["cloudConfig"] == OLD
