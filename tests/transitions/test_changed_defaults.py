"""A release of ours that fills in something else replaces no machine; what reaches one is held."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.controller.observe import Code
from fairlead.controller.reconcile import preview
from fairlead.decision.decision import HoldPlatformChange, ReplaceMachines
from fairlead.inputs import declared
from fairlead.inputs.defaults import DEFAULTS, REACHING
from fairlead.inputs.leaf import Json
from fairlead.inputs.platform_inputs import CODE_DEFAULTS
from fairlead.inputs.remembered import Remembered
from fairlead.revision import node_config_text
from fairlead.sim.world import SimWorld
from transitions.pool_worlds import POOL, edit, names, settled_world, template_writes

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)

CHRONY: dict[str, Any] = {"path": "/etc/chrony.conf", "content": "pool ntp.example\n"}

# One other value for every row: a row that is missing here fails the test.
ANOTHER: dict[str, Json] = {
    "config.files[].mode": "0600",
    "replicas": 2,
    "autoscaling.min": 1,
    "autoscaling.max": 5,
    "timeouts.detach": 60,
    "timeouts.drain": 60,
    "timeouts.join": 60,
    "timeouts.ready": 60,
    "autoRepair": True,
    "maxUnhealthy": 5,
    "management.type": "InPlace",
    "management.strategy": "OnDelete",
    "management.maxSurge": 2,
    "management.maxUnavailable": 2,
    "management.maxUnavailable[InPlace]": 2,
    "rollout.windows[].days": ["Sun"],
    "rollout.windows[].zone": "Europe/Berlin",
    "rollout.soak": 60,
    "rollout.haltAfter": 1,
    "rollout.estimate": 60,
    "platformChanges.newNodes": "Refresh",
    "secretContent": "Roll",
    "osStream": [[[0, 0], "ubuntu-20.04"], [[1, 30], "ubuntu-26.04"]],
}


def sparse_world(**spec: Any) -> SimWorld:
    """A settled pool whose owner leaves to us what can be left; the rest stands in `spec`."""
    config = [{"kind": "Files", "files": [CHRONY]}]
    windows = [{"start": "00:00", "duration": "24h"}]
    return settled_world(**{"config": config, "rollout": {"windows": windows}} | spec)


def forget_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse every document and render it again, as another process would."""
    monkeypatch.setattr(node_config_text, "_RENDERED", Remembered(node_config_text.MOST_TEXT))
    monkeypatch.setattr(declared, "_REMEMBERED", Remembered(declared.MOST_TEXT))


def edit_chrony(world: SimWorld, **fields: Any) -> None:
    edit(world, config=[{"kind": "Files", "files": [CHRONY | fields]}])


@pytest.mark.parametrize("row", DEFAULTS)
@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"osStream": "ubuntu-24.04", "replicas": None, "autoscaling": {"min": 1, "max": 3}},
        {"management": {"type": "InPlace"}},
    ],
    ids=["sparse", "stream and autoscaling", "in place"],
)
def test_no_changed_default_replaces_a_machine(
    row: str, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = sparse_world(**spec)
    before, pointed = names(world), template_writes(world)
    monkeypatch.setitem(DEFAULTS, row, ANOTHER[row])
    forget_parsed(monkeypatch)
    if row in REACHING:
        world.code = Code(defaults={**CODE_DEFAULTS, REACHING[row]: ANOTHER[row]})

    world.settle()

    assert set(before) <= set(world.living), "more may come, none goes"
    assert template_writes(world) == pointed
    held = [change.leaf for change in world.records[POOL].held]
    assert held == ([f"platform.code.{REACHING[row]}"] if row in REACHING else [])


def test_every_default_has_another_value_here() -> None:
    assert ANOTHER.keys() == DEFAULTS.keys()
    assert [row for row in DEFAULTS if ANOTHER[row] == DEFAULTS[row]] == []


def test_a_held_default_goes_along_with_the_owners_next_change() -> None:
    world = sparse_world()
    world.code = Code(defaults={**CODE_DEFAULTS, "fileMode": "0600"})
    world.settle()
    assert '"mode": "0644"' in world.records[POOL].target.node_config  # type: ignore[union-attr]

    edit(world, imageBase="202609.01")
    world.settle()

    assert '"mode": "0600"' in world.records[POOL].target.node_config  # type: ignore[union-attr]


def test_a_default_that_is_written_out_or_left_out_again_replaces_nothing() -> None:
    world = sparse_world()
    before, pointed = names(world), template_writes(world)

    for fields in ({"mode": "0644"}, {}, {"mode": "644"}, {}):
        edit_chrony(world, **fields)
        world.settle()
    for stream in ("ubuntu-24.04", None):
        edit(world, osStream=stream)
        world.settle()

    assert (names(world), template_writes(world)) == (before, pointed)


def test_what_was_written_out_stays_when_the_default_moves_on() -> None:
    world = sparse_world()
    edit_chrony(world, mode="0644")
    world.settle()
    world.code = Code(defaults={**CODE_DEFAULTS, "fileMode": "0600"})
    edit(world, imageBase="202609.01")

    world.settle()

    assert '"mode": "0644"' in world.records[POOL].target.node_config  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "spec",
    [
        {"config": [{"kind": "Files", "files": [CHRONY | {"mode": "0600"}]}]},
        {"osStream": "ubuntu-22.04"},
    ],
)
def test_a_value_that_is_not_the_default_is_a_change_by_the_owner(spec: dict[str, Any]) -> None:
    world = sparse_world()

    edit(world, **spec)

    assert isinstance(preview(POOL, world.world(), NOON).decision, ReplaceMachines)


def test_a_mode_left_out_under_another_default_is_told_as_held() -> None:
    world = sparse_world()
    edit_chrony(world, mode="0644")
    world.settle()
    world.code = Code(defaults={**CODE_DEFAULTS, "fileMode": "0600"})

    edit_chrony(world)

    decision = preview(POOL, world.world(), NOON).decision
    assert isinstance(decision, HoldPlatformChange)
    assert [held.leaf for held in decision.held] == ["platform.code.fileMode"]
