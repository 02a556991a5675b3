"""
Cases that other controllers got wrong or never answered, as transitions of one world.

The numbers are those of the study of HyperShift, section 7: 42, 43 and 98 to 120.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fairlead.controller.observe import Code
from fairlead.revision.hashing import Scheme
from fairlead.rollout.secrets import is_valid
from fairlead.sim.world import SimWorld
from pool_documents import make_revision, pool_document
from transitions.pool_worlds import (
    POOL,
    condition,
    declare,
    drift,
    edit,
    edit_platform,
    event_kinds,
    forget_record,
    fresh_world,
    full_condition,
    names,
    pairs,
    settled_world,
    state,
    template,
    template_writes,
)


def settle_quietly(world: SimWorld) -> tuple[int, list[str]]:
    """Run until nothing moves; return template writes and machines, for comparing."""
    world.settle()
    return template_writes(world), names(world)


def test_042_a_pinned_pair_is_kept_while_drifted() -> None:
    world = settled_world()
    drift(world)

    for _ in range(20):
        world.clock.advance(timedelta(hours=3))
        world.settle()

    assert pairs(world) == [template(world).revision]
    assert world.tokens[POOL, template(world).revision].expires_at is None


def test_043_of_three_pairs_the_orphan_is_collected() -> None:
    world = settled_world()
    applied = template(world).revision
    orphan = replace(world.tokens[POOL, applied], id="0rphan")
    world.tokens[POOL, "0rphan"] = orphan
    world.user_data[POOL, "0rphan"] = replace(world.user_data[POOL, applied], id="0rphan")
    world.fate = "silent"
    edit(world, imageBase="202607.03")
    world.one_pass()
    target = template(world).revision
    assert pairs(world) == sorted([applied, target, "0rphan"])

    world.clock.advance(timedelta(hours=2))
    world.one_pass()

    assert pairs(world) == sorted([applied, target])
    assert ("workers", "0rphan") not in world.user_data


def test_098_an_upgrade_of_the_controller_moves_nothing() -> None:
    world = settled_world()
    before = world.records[POOL], template(world), names(world)

    world.code = Code()
    for _ in range(5):
        world.clock.advance(timedelta(minutes=1))
        assert world.one_pass() == 0

    assert (world.records[POOL], template(world), names(world)) == before
    for kind in ("UpdatingConfig", "UpdatingVersion", "UpdatingPlatformMachineTemplate"):
        assert condition(world, kind) == ("False", "AsExpected")


@pytest.mark.parametrize("version", ["1.33.4", "1.32.9"])
def test_099_a_pool_of_an_older_release_is_ready(version: str) -> None:
    world = settled_world(release={"version": version})

    assert condition(world, "Ready") == ("True", "AsExpected")
    assert world.statuses[POOL].version == version


INTENT_EDITS: dict[str, dict[str, Any]] = {
    "release.version": {"release": {"version": "1.34.3", "digest": "sha256:1111"}},
    "release.digest": {"release": {"version": "1.34.2", "digest": "sha256:2222"}},
    "imageBase": {"imageBase": "202607.03"},
    "osStream": {"osStream": "ubuntu-22.04"},
    "config.kubelet.maxPods": {"config": [{"kind": "KubeletConfiguration", "maxPods": 50}]},
    "config.containerd.debug": {
        "config": [{"kind": "ContainerdConfiguration", "settings": {"debug": {"level": "info"}}}]
    },
    "config.sysctl.vm.swappiness": {
        "config": [{"kind": "Sysctl", "settings": {"vm.swappiness": 1}}]
    },
    "config.files./etc/a": {
        "config": [{"kind": "Files", "files": [{"path": "/etc/a", "content": "a"}]}]
    },
    "config.mirrors.docker.io": {
        "config": [{"kind": "Mirrors", "mirrors": [{"source": "docker.io", "mirrors": ["m"]}]}]
    },
    "pullSecret.name": {"pullSecret": {"name": "other"}},
    "trustBundle.name": {"trustBundle": {"name": "bundle"}},
    "proxy.http": {"proxy": {"http": "http://p"}},
    "proxy.https": {"proxy": {"https": "http://p"}},
    "proxy.noProxy": {"proxy": {"noProxy": ["a"]}},
    "imagePolicy.default": {"imagePolicy": {"default": "Reject"}},
    "tlsProfile": {"tlsProfile": "Modern"},
    "sshKeys": {"sshKeys": ["ssh-ed25519 AAAA"]},
    "fips": {"fips": True},
    "endpoint.access": {"endpoint": {"access": "Private"}},
    "endpoint.port": {"endpoint": {"port": 443}},
    "endpoint.advertiseAddress": {"endpoint": {"advertiseAddress": "10.1.1.1"}},
    "endpoint.name": {"endpoint": {"name": "api.example.test"}},
    "machineTemplate.vmSize": {"machineTemplate": {"vmSize": "m5.xlarge"}},
    "proxyImage": {"proxyImage": "haproxy@sha256:cc"},
}

PLATFORM_EDITS: dict[str, dict[str, Any]] = {
    "platform.proxy.image": {"proxy": {"image": "haproxy@sha256:bb", "template": "v1"}},
    "platform.proxy.template": {"proxy": {"image": "haproxy@sha256:aa", "template": "v2"}},
    "platform.registryOverrides.docker.io": {"registryOverrides": {"docker.io": "mirror"}},
    "platform.controlPlaneImage": {"controlPlaneImage": "cp@sha256:bb"},
    "platform.noProxy": {"noProxy": [".svc"]},
    "platform.metadataAddress": {"metadataAddress": "169.254.169.254"},
    "platform.regionDomains": {"regionDomains": [".internal"]},
    "platform.loadBalancerAddress": {"loadBalancerAddress": "10.0.0.5"},
    "platform.machineTemplateDefaults.disk": {"machineTemplateDefaults": {"disk": "ssd"}},
    "platform.components.tuning": {"components": {"tuning": "rendered"}},
    "platform.cloudConfig": {"cloudConfig": {"zone": "a"}},
    "platform.defaults.containerd": {"defaults": {"containerd": "2.1"}},
    "platform.hotfix.202607.02": {"hotfix": {"202607.02": "202607.02.1"}},
    "platform.unknown.platform.flux": {"flux": 1},
}


@pytest.mark.parametrize("leaf", INTENT_EDITS)
def test_100_every_intent_leaf_rolls_once_and_is_named(leaf: str) -> None:
    world = settled_world()

    edit(world, **INTENT_EDITS[leaf])
    world.settle()

    assert template_writes(world) == 2
    assert {machine.reason for machine in world.gone.values()} == {
        f"the pool's owner changed {leaf}"
    }


@pytest.mark.parametrize("leaf", PLATFORM_EDITS)
def test_101_102_no_platform_leaf_rolls_and_each_is_named(leaf: str) -> None:
    world = settled_world()
    before = settle_quietly(world)

    edit_platform(world, **PLATFORM_EDITS[leaf])

    assert settle_quietly(world) == before
    assert condition(world, "UpdatingConfig") == ("False", "AsExpected")
    is_for_all = leaf == "platform.cloudConfig"
    new_machines = "new machines get it" if is_for_all else "new machines boot like their siblings"
    assert full_condition(world, "ConfigUpdatePending").message == (
        f"Held: 1 platform change ({leaf}) since 2026-11-16T12:04:00Z;"
        f" no machine will be replaced, {new_machines}."
    )


def test_103_a_template_that_is_right_already_completes() -> None:
    world = settled_world()
    edit(world, imageBase="202607.03")
    world.crash_at = world.writes + 4  # after the template, before the record
    with pytest.raises(RuntimeError, match="before write"):
        world.one_pass()
    assert template_writes(world) == 2

    world.settle()

    assert template_writes(world) == 2
    assert state(world) == "Settled"
    assert world.records[POOL].reason == "the pool's owner changed imageBase"


def test_104_a_pool_without_a_record_is_seeded_from_its_secret_and_stays() -> None:
    world = settled_world()
    before = settle_quietly(world)
    forget_record(world)

    assert settle_quietly(world) == before
    assert world.records[POOL].seeded.value == "Secret"
    assert condition(world, "Seeded") == ("True", "Secret")
    assert condition(world, "UpdatingConfig") == ("False", "AsExpected")


def test_104_without_any_evidence_nothing_rolls_and_the_owner_is_told() -> None:
    world = settled_world()
    forget_record(world)
    world.tokens.clear()
    world.user_data.clear()
    edit(world, imageBase="202607.03")

    world.settle()

    assert template_writes(world) == 1
    assert "SeededWithoutEvidence" in event_kinds(world)
    assert condition(world, "Seeded") == ("False", "SeededWithoutEvidence")


def test_105_what_completes_is_the_target_not_what_is_wanted_by_then() -> None:
    world = settled_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    target = template(world).revision
    drift(world)

    world.settle()

    applied = world.records[POOL].applied
    assert applied is not None
    assert applied.id == target
    assert condition(world) == ("True", "ManagementConfigDrift")


def test_106_a_superseded_target_never_completes_and_its_pair_goes_when_unused() -> None:
    world = settled_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()
    middle = template(world).revision
    edit(world, imageBase="202607.04")
    world.one_pass()
    assert world.tokens[POOL, middle].expires_at is None, "a machine still uses it"

    world.settle()

    assert world.tokens[POOL, middle].expires_at is not None
    applied = world.records[POOL].applied
    assert applied is not None
    assert applied.leaves["imageBase"] == "202607.04"
    world.clock.advance(timedelta(hours=2))
    world.settle()
    assert pairs(world) == [applied.id]


def test_107_a_change_made_while_the_controller_was_down_still_rolls() -> None:
    world = settled_world()
    forget_record(world)
    edit(world, imageBase="202607.03")

    world.settle()

    assert template_writes(world) == 2
    assert {machine.reason for machine in world.gone.values()} == {
        "the pool's owner changed imageBase"
    }


def test_108_a_rollout_in_flight_at_an_upgrade_stays_in_flight() -> None:
    world = settled_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()
    forget_record(world)
    writes = template_writes(world)

    world.one_pass()
    assert state(world) == "RollingOut"
    assert condition(world, "UpdatingConfig") == ("True", "RolloutInProgress")
    world.settle()

    assert template_writes(world) == writes
    assert state(world) == "Settled"


def test_109_a_stale_record_after_a_downgrade_rolls_nothing_and_shows_drift() -> None:
    world = settled_world()
    stale = world.records[POOL]
    edit(world, imageBase="202607.03")
    world.settle()
    world.records[POOL] = stale
    drift(world)
    before = settle_quietly(world)

    assert before[0] == 2
    assert condition(world) == ("True", "ManagementConfigDrift")
    applied = world.records[POOL].applied
    assert applied is not None
    assert applied.id == template(world).revision


def test_110_user_data_always_carries_a_valid_token_under_drift() -> None:
    world = settled_world()
    drift(world)
    tokens = set()

    for _ in range(4 * 18):
        world.clock.advance(timedelta(minutes=15))
        world.one_pass()
        revision = template(world).revision
        shown = world.user_data[POOL, revision].token
        tokens.add(shown)
        assert is_valid(world.tokens[POOL, revision], shown, world.clock.now)

    assert len(tokens) == 4, "the first, and three rotations in 18 hours"
    assert template_writes(world) == 1


def test_111_a_change_of_the_machine_template_alone_takes_the_latest_platform_along() -> None:
    world = settled_world()
    drift(world)
    world.settle()

    edit(world, machineTemplate={"vmSize": "m5.xlarge"})
    world.one_pass()
    assert condition(world, "UpdatingPlatformMachineTemplate") == ("True", "RolloutInProgress")
    assert condition(world, "UpdatingConfig") == ("False", "AsExpected")
    world.settle()

    assert template_writes(world) == 2
    assert template(world).machine_template == {"vmSize": "m5.xlarge"}
    assert condition(world) == ("False", "AsExpected")


def test_112_a_drifted_pool_scaled_to_nothing_adopts() -> None:
    world = settled_world()
    drift(world)
    world.settle()

    edit(world, replicas=0)
    world.settle()

    assert names(world) == []
    assert state(world) == "Settled"
    assert condition(world) == ("False", "AsExpected")


def test_113_another_hash_formula_over_equal_inputs_moves_nothing() -> None:
    world = settled_world()
    before = template(world), names(world), pairs(world)

    world.code = Code(scheme=Scheme(2))
    world.settle()

    assert (template(world), names(world), pairs(world)) == before
    assert condition(world) == ("False", "AsExpected")
    applied = world.records[POOL].applied
    assert applied is not None
    assert applied.scheme == 2


def test_113_a_change_after_another_formula_rolls_once() -> None:
    world = settled_world()
    world.code = Code(scheme=Scheme(2))
    world.settle()

    edit(world, imageBase="202607.03")
    world.settle()

    assert template_writes(world) == 2


def test_114_another_endpoint_access_rolls() -> None:
    world = settled_world(endpoint={"access": "Public"})

    edit(world, endpoint={"access": "Private"})
    world.settle()

    assert template_writes(world) == 2


def test_115_a_rebuilt_release_of_the_same_version_rolls() -> None:
    world = fresh_world(release={"version": "1.34.2"})
    declare(world, release_digest="sha256:1111")
    world.settle()

    declare(world, release_digest="sha256:2222")
    world.settle()

    assert template_writes(world) == 2
    assert {machine.reason for machine in world.gone.values()} == {
        "the pool's owner changed release.digest"
    }


def test_116_an_invalid_configuration_still_scales_and_repairs() -> None:
    world = settled_world(autoRepair=True)
    revision = template(world).revision
    edit(world, replicas=5, config=[{"kind": "Nonsense"}])
    world.fail("workers-2", "disk is gone")

    world.settle()

    assert len(names(world)) == 5
    assert "workers-2" not in names(world)
    assert {machine.booted for machine in world.living.values()} == {revision}
    assert state(world) == "Blocked"
    assert condition(world, "ValidConfig") == ("False", "ValidationFailed")
    assert full_condition(world, "ValidConfig").message == (
        "spec.config[0].kind: found the text 'Nonsense', expected a known kind (known:"
        " KubeletConfiguration, ContainerdConfiguration, Sysctl, Files, Mirrors)"
    )
    assert template_writes(world) == 1


def test_117_a_pinned_secret_deleted_out_of_band_comes_back_with_its_content() -> None:
    world = settled_world()
    drift(world)
    world.settle()
    before = template(world)
    expected = make_revision(pool_document()).node_config
    world.tokens.clear()
    world.user_data.clear()

    world.settle()

    assert pairs(world) == [before.revision]
    assert world.tokens[POOL, before.revision].served.node_config == expected
    assert template(world) == before


def test_118_force_fires_once_per_value() -> None:
    world = settled_world()
    edit(world, force="v1")
    for _ in range(5):
        world.one_pass()
    world.settle()
    assert template_writes(world) == 2
    assert {machine.reason for machine in world.gone.values()} == {
        "the pool's owner forced it (v1)"
    }

    for value, rollouts in (("v2", 3), ("v1", 3), (None, 3), ("v2", 3)):
        edit(world, force=value)
        world.settle()
        assert template_writes(world) == rollouts


def test_118_a_force_survives_a_crash_and_still_fires_once() -> None:
    world = settled_world()
    edit(world, force="v1")
    world.crash_at = world.writes + 3
    with pytest.raises(RuntimeError, match="before write"):
        world.one_pass()

    world.settle()

    assert template_writes(world) == 2
    assert world.records[POOL].honoured == ("v1",)


@pytest.mark.parametrize(
    ("resolved", "spec", "platform"),
    [
        ({"problem": "release 1.34.2 was not found"}, {}, {}),
        ({}, {"config": [{"kind": "KubeletConfiguration", "maxPods": "many"}]}, {}),
        ({}, {}, {"noProxy": "all"}),
        ({}, {"replicas": "many"}, {}),
    ],
    ids=["lookup", "render", "platform", "settings"],
)
def test_120_what_cannot_be_computed_writes_no_template(
    resolved: dict[str, str], spec: dict[str, Any], platform: dict[str, Any]
) -> None:
    world = settled_world()
    before = settle_quietly(world)
    edit(world, imageBase="202607.03", **spec)
    edit_platform(world, **platform)
    declare(world, **resolved)

    assert settle_quietly(world) == before
    assert condition(world) == ("Unknown", "DriftUnknown")
    assert state(world) == "Blocked"
