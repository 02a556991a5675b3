"""Fixes in real nodes: systemd, cloud-init, apt, and fixes that are broken in every way."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from boot.broken_fixes import BROKEN
from boot.fixed_nodes import FixedNodes, Machine, fixed_nodes, machines_of, tasks_refused
from boot.node import missing_tools
from boot.node_image import node_image
from boot.roots import SUITES
from fairlead.hotfix.catalog import add_base
from fairlead.hotfix.publish.publisher import change_catalog
from hotfix_depot import BASE

pytestmark = [pytest.mark.root, pytest.mark.slow]

OTHER_BASE = "202605.30"
UNLISTED_BASE = "202604.01"
INSTALL_MS = 20_000
FIX_STAGES = ("check-hotfix", "download-hotfix", "choose-agent")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FixedNodes]:
    if missing := missing_tools("mmdebstrap", "gpg", "dpkg-deb", "openssl"):
        pytest.skip(f"NOT RUN: {', '.join(missing)} missing")
    with fixed_nodes(tmp_path_factory.mktemp("fixed")) as made:
        yield made


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    """A machine of each distribution."""
    with machines_of(tmp_path, *((suite, node_image(suite)) for suite in SUITES)) as made:
        yield made


def test_a_published_fix_provisions_the_next_boot(
    nodes: FixedNodes, machines: list[Machine]
) -> None:
    version = nodes.publish(BASE)

    for booted in nodes.boot(*machines):
        assert booted.fact["used"] == booted.fact["wanted"] == version
        told = booted.status["fairlead"]["facts"]["hotfix"]
        assert (told["used"], told["baked"]) == (version, f"{BASE}.0")
        assert booted.status["ExitCode"] == "0"
        assert booted.provisioned_by() == version
        assert booted.left_of_the_attempt() == []
    for machine in machines:
        assert machine.groups_seen == {"divided", "can be killed at once"}


def test_how_long_a_fix_takes(
    nodes: FixedNodes, machines: list[Machine], capsys: pytest.CaptureFixture[str]
) -> None:
    nodes.withdraw_all()
    without = [booted.took_ms(*FIX_STAGES) for booted in nodes.boot(*machines)]
    nodes.publish(BASE)
    fixed = [booted.took_ms(*FIX_STAGES) for booted in nodes.boot(*machines, instance="two")]

    with capsys.disabled():
        for suite, plain, took in zip(SUITES, without, fixed, strict=True):
            sys.stdout.write(
                f"\n{suite}: fix path {took:.0f} ms with a fix, {plain:.0f} ms without: "
                f"{took / plain:.1f} times\n"
            )
    assert max(without) < 8_000
    assert max(fixed) < 28_000


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_fix_costs_no_boot(how: str, nodes: FixedNodes, machines: list[Machine]) -> None:
    change, expected = BROKEN[how]
    version = nodes.publish(BASE, change)

    for booted in nodes.boot(*machines):
        assert booted.fact["wanted"] == version
        assert "used" not in booted.fact
        assert expected.format(version=version) in booted.fact["cause"]
        assert booted.status["fairlead"]["facts"]["hotfix"] == booted.fact
        assert booted.status["ExitCode"] == "0"
        assert booted.provisioned_by() == f"{BASE}.0"
        assert booted.left_of_the_attempt() == []
        assert booted.took_ms("download-hotfix", "choose-agent") < INSTALL_MS + 500
        assert tasks_refused(booted.place) in ("max 0\n", ""), "the agent bounds it by itself"


def test_each_base_takes_its_own_fix_and_an_unlisted_one_none(
    nodes: FixedNodes, tmp_path: Path
) -> None:
    change_catalog(nodes.publishing.depot, lambda one: add_base(one, OTHER_BASE))
    ours = nodes.publish(BASE)
    theirs = nodes.publish(OTHER_BASE)
    images = [
        *((f"{suite}-other", node_image(suite, f"{OTHER_BASE}.0")) for suite in SUITES),
        *((f"{suite}-unlisted", node_image(suite, f"{UNLISTED_BASE}.0")) for suite in SUITES),
    ]

    with machines_of(tmp_path, *images) as machines:
        *others, first, second = nodes.boot(*machines)

        assert ours.startswith(BASE)
        for booted in others:
            assert booted.fact["used"] == theirs
            assert booted.provisioned_by() == theirs
        for booted in (first, second):
            assert set(booted.fact) == {"baked", "checked"}
            assert booted.provisioned_by() == f"{UNLISTED_BASE}.0"
            assert not (booted.root / "usr/lib/fairlead-node").exists()


def test_a_withdrawn_fix_is_not_used_again_although_it_is_on_the_disk(
    nodes: FixedNodes, machines: list[Machine]
) -> None:
    version = nodes.publish(BASE)
    for booted in nodes.boot(*machines):
        assert booted.fact["used"] == version

    nodes.withdraw_all()

    # Another document, the same disk.
    for booted in nodes.boot(*machines, instance="two"):
        staged = booted.root / "usr/lib/fairlead/fairlead-node-hotfix"
        assert version in str(staged.readlink())
        assert "used" not in booted.fact
        assert booted.status["ExitCode"] == "0"
        assert booted.provisioned_by() == f"{BASE}.0"
        assert booted.left_of_the_attempt() == []
