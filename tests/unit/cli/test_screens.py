"""What commands show, as plain text: the sentences, the tables, the bar."""

from pathlib import Path
from typing import Any

import pytest

from fairlead.answers.event import Event
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolDetail
from fairlead.answers.words import EventKind
from fairlead.cli.screens.blocks import Grid, Toned, line
from fairlead.cli.screens.machine import explain_machine_blocks, story_of
from fairlead.cli.screens.overview import next_commands, overview_blocks, screen_blocks
from fairlead.cli.screens.plan import plan_blocks
from fairlead.cli.screens.platform import effect_blocks
from fairlead.cli.screens.pool import explain_blocks, pool_blocks, pool_grid
from fairlead.cli.screens.rollout import bar_of, progress_line, rollout_blocks
from fairlead.cli.screens.show import draw_plain
from fairlead.telling.headline import headline_of
from fairlead.telling.spoken_time import boot_text, duration_text
from fairlead.telling.summary import summary_of
from unit.telling.answers import (
    NOW,
    make_held,
    make_leaf,
    make_machine,
    make_plan,
    make_pool,
    make_rolling_pool,
    make_rollout,
    make_wait,
)

VERSION = make_leaf(before="1.34.2", after="1.35.0")
PROXY = make_leaf("platform.proxy.image", **{"class": "platform", "owner": "networking"})


def drawn(blocks: list[Any]) -> str:
    return draw_plain(blocks)


def test_columns_are_aligned_and_the_same_whatever_is_in_them() -> None:
    grid = Grid(("NAME", "HELD", "STATE"), (("a", "", "x"), ("long", Toned("", "bad"), "y")), 2)

    assert drawn([grid]) == "  NAME  HELD  STATE\n  a     -     x\n  long  -     y\n"


def test_what_a_machine_says_cannot_move_the_cursor() -> None:
    assert drawn([line("a\x1b[2Jb\n", Toned("c\x07", "bad"))]) == "a\\x1b[2Jb\\nc\\x07\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (12.4, "12 s"),
        (89, "89 s"),
        (90, "1 min"),
        (5399, "89 min"),
        (5400, "1 h"),
        (172_799, "47 h"),
        (172_800, "2 d"),
    ],
)
def test_durations_have_one_unit(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_boot_is_told_in_milliseconds_until_it_takes_a_second() -> None:
    assert [boot_text(ms) for ms in (None, 0.4, 412.3, 999.4, 1000, 12345)] == [
        "", "0 ms", "412 ms", "999 ms", "1.0 s", "12.3 s",
    ]  # fmt: skip


def test_held_drift_is_one_sentence_with_its_age() -> None:
    pool = make_pool(state="Drifted", held=[make_held()])

    assert summary_of(pool, pool.plan, NOW) == (
        "held: 1 platform change, since 12 s, no machine will be replaced"
    )


def test_of_several_held_changes_the_oldest_gives_the_age() -> None:
    older = make_held(leaf="platform.noProxy", since="2026-11-20T11:50:00.000Z")

    pool = make_pool(state="Drifted", held=[make_held(), older])

    assert summary_of(pool, pool.plan, NOW) == (
        "held: 2 platform changes, since 10 min, no machine will be replaced"
    )


@pytest.mark.parametrize(
    ("pool", "sentence"),
    [
        (
            make_pool(),
            "settled: every machine has what is declared, no machine will be replaced",
        ),
        (
            make_rolling_pool(),
            "rolling out: 1 of 3 machines up to date, since 40 s",
        ),
        (
            make_rolling_pool(held=[make_held()]),
            "rolling out: 1 of 3 machines up to date, since 40 s",
        ),
        (
            make_rolling_pool(state="Blocked", waits=[make_wait("Halted", "2 failed")]),
            "halted: 1 of 3 machines up to date, no machine will be replaced until it is resumed",
        ),
        (
            make_rolling_pool(state="Held", waits=[make_wait("Paused", "the pool is paused")]),
            "paused: 1 of 3 machines up to date, no machine will be replaced until the pause ends",
        ),
        (
            make_rolling_pool(state="Held", waits=[make_wait("OutsideWindow", "none is open")]),
            "outside its window: 1 of 3 machines up to date, "
            "no machine will be replaced until it opens",
        ),
        (
            make_rolling_pool(state="Held", waits=[make_wait("PlanExceeded", "more")]),
            "not approved: 1 of 3 machines up to date, "
            "no machine will be replaced until it is planned again",
        ),
        (
            make_rolling_pool(state="Held", waits=[make_wait("EverythingStopped", "stop")]),
            "stopped: 1 of 3 machines up to date, "
            "no machine will be replaced until the kill switch is off",
        ),
        (
            make_pool(held=[make_held()], plan=make_plan(change="replace", machines=["a", "b"])),
            "waiting: 2 machines will be disturbed",
        ),
        (make_pool(state="Blocked"), "blocked: no machine will be replaced"),
        (
            make_pool(state="Blocked", waits=[make_wait("TooManyUnhealthy", "3 are unhealthy")]),
            "blocked: 3 are unhealthy",
        ),
        (
            make_pool(state="Leaving", total=2, plan=make_plan(change="delete")),
            "leaving: 2 machines left to go",
        ),
        (
            make_pool(
                state="Held",
                total=1,
                plan=make_plan(change="delete"),
                waits=[make_wait("EverythingStopped", "stop")],
            ),
            "leaving: 1 machine left to go, none goes until the kill switch is off",
        ),
        (make_pool(total=4), "not settled: 1 machine more than wanted"),
        (
            make_pool(available=2, waits=[make_wait("MachineNotJoined", "a: x", machine="a")]),
            "not settled: 2 of 3 machines available",
        ),
        (make_pool(available=1), "coming up: 1 of 3 machines available"),
    ],
)
def test_a_pool_is_summed_up_in_one_sentence(pool: PoolDetail, sentence: str) -> None:
    assert summary_of(pool, pool.plan, NOW) == sentence


def test_an_explanation_names_leaf_owner_severity_age_and_values() -> None:
    pool = make_pool(
        state="Drifted",
        held=[make_held()],
        summary="held: 1 platform change, since 12 s, no machine will be replaced",
        sentence="Held: 1 platform change.",
    )

    assert drawn(explain_blocks(pool, NOW)) == (
        "held: 1 platform change, since 12 s, no machine will be replaced\n"
        "Held: 1 platform change.\n"
        "held\n"
        "  CHANGE    LEAF                  OWNER       SEVERITY  HELD FOR  BEFORE"
        "             AFTER\n"
        "  CHG-1042  platform.proxy.image  networking  routine   12 s      haproxy@sha256:aa"
        "  haproxy@sha256:bb\n"
    )


def test_an_explanation_of_a_rollout_tells_what_changed_and_what_it_waits_for() -> None:
    until = "2026-11-20T12:19:00.000Z"
    pool = make_rolling_pool(
        rollout=make_rollout(plan=make_plan(leaves=[VERSION])),
        waits=[make_wait("MachineNotJoined", "1 machine boots", until=until)],
    )

    text = drawn(explain_blocks(pool, NOW))

    assert "what changed\n  LEAF             CLASS   OWNER       BEFORE  AFTER\n" in text
    assert "  release.version  intent  pool owner  1.34.2  1.35.0\n" in text
    assert "  waits for  1 machine boots (at most 19 min)\n" in text


@pytest.mark.parametrize(
    ("plan", "headline"),
    [
        (make_plan(), "nothing changes, no machine will be replaced"),
        (
            make_plan(change="replace", machines=["a", "b"], because="of a"),
            "2 machines will be replaced because of a",
        ),
        (
            make_plan(change="in-place", machines=["a"], because="of a"),
            "1 machine will be changed in place because of a",
        ),
        (
            make_plan(change="replace", machines=["a"], because="of a", creates=1),
            "1 machine will be replaced because of a",
        ),
        (
            make_plan(
                change="replace",
                machines=["a"],
                because="of a",
                creates=3,
                leaves=[make_leaf("replicas", **{"class": "in-place"}, before=3, after=5)],
            ),
            "1 machine will be replaced because of a, 2 machines will be created",
        ),
        (make_plan(is_new=True, creates=3), "new pool, 3 machines will be created"),
        (make_plan(change="in-place", creates=1), "1 machine will be created"),
        (make_plan(change="in-place", removes=2), "2 machines will be removed"),
        (make_plan(change="in-place"), "changed in place, no machine will be replaced"),
        (make_plan(leaves=[PROXY]), "1 platform change held, no machine will be replaced"),
        (make_plan(change="delete", removes=1), "1 machine will be removed, the pool goes"),
    ],
)
def test_a_plan_has_a_headline(plan: Plan, headline: str) -> None:
    assert headline_of(plan) == headline


def test_a_plan_shows_leaves_order_and_estimate() -> None:
    plan = make_plan(
        change="replace",
        because="the pool's owner changed release.version",
        leaves=[VERSION, PROXY],
        machines=["workers-1", "workers-2"],
        estimate_s=10.0,
        waits=[
            make_wait("BudgetSpent", "2 machines wait for their turn"),
            make_wait("OutsideWindow", "no window is open long enough to replace a machine"),
        ],
    )

    assert drawn(plan_blocks([plan])) == (
        "workers: 2 machines will be replaced because the pool's owner changed release.version\n"
        "  LEAF                  CLASS     OWNER       BEFORE  AFTER\n"
        "  release.version       intent    pool owner  1.34.2  1.35.0\n"
        "  platform.proxy.image  platform  networking  a       b\n"
        "  order      workers-1, workers-2\n"
        "  takes      about 10 s\n"
        "  waits for  no window is open long enough to replace a machine\n"
    )


def test_where_machines_stay_a_platform_leaf_is_shown_as_held() -> None:
    text = drawn(plan_blocks([make_plan(leaves=[PROXY])]))

    assert "  platform.proxy.image  held   networking  a       b\n" in text


def test_values_are_text_or_json_and_never_endless() -> None:
    leaf = make_leaf(before=None, after={"a": [1, "é"], "b": "x" * 100})

    text = drawn(plan_blocks([make_plan(leaves=[leaf])]))

    assert '  (not set)  {"a":[1,"é"],"b":"xxxx' in text
    assert text.splitlines()[2].endswith("…")


def test_a_platform_change_says_how_many_pools_hold_it() -> None:
    plans = [make_plan(leaves=[PROXY]), make_plan(pool="gpu", leaves=[PROXY])]

    assert drawn(effect_blocks(plans)) == (
        "2 pools hold this change (workers, gpu), no machine is replaced\n"
    )
    assert drawn(effect_blocks([make_plan()])) == (
        "no pool holds this change, no machine is replaced\n"
    )


def test_a_platform_change_that_is_overdue_at_once_says_what_is_replaced() -> None:
    overdue = make_plan(change="replace", machines=["a"], because="it was held for too long")

    text = drawn(effect_blocks([overdue, make_plan(pool="gpu", leaves=[PROXY])]))

    assert text.startswith("1 pool holds this change (gpu)\n")
    assert "workers: 1 machine will be replaced because it was held for too long\n" in text


def test_a_bar_counts_machines_that_serve_that_move_and_that_wait() -> None:
    pool = make_rolling_pool()
    machines = [
        make_machine("workers-1", phase="leaving"),
        make_machine("workers-2"),
        make_machine("workers-3"),
        make_machine("workers-4", revision="r2"),
    ]

    assert drawn([bar_of(pool, machines, 20)]) == "━━━━━╍╍╍╍╍──────────\n"
    assert drawn([bar_of(make_pool(), make_pool().machines, 20)]) == "━" * 20 + "\n"
    assert drawn([bar_of(make_pool(desired=0, total=0), [], 20)]) == "─" * 20 + "\n"


def test_progress_on_one_line_moves_only_when_something_does() -> None:
    assert progress_line(make_rolling_pool()) == (
        "workers: 1 of 3 machines up to date, 3 available; 2 machines wait for their turn"
    )


def test_a_rollout_shows_bar_time_left_machines_and_waits() -> None:
    lines = drawn(rollout_blocks(make_rolling_pool(), make_pool().machines, 100, NOW)).splitlines()

    assert lines[0].startswith("workers RollingOut  1.34.2 → 1.35.0  ─")
    assert lines[0].endswith("  1 of 3 up to date, 3 available, about 20 s left")
    assert lines[3] == "  workers-1  ready  -        r1        412 ms  2 min  -"
    assert lines[-1] == "  waits for  2 machines wait for their turn"


@pytest.mark.parametrize(
    ("reason", "changed", "is_estimated"),
    [
        ("MachineNotJoined", {"machine": "workers-9"}, False),
        ("WaitsForOwner", {}, False),
        ("MachineNotJoined", {"machine": "workers-9", "until": "2026-11-20T12:20:00.000Z"}, True),
        ("MachineLeaving", {}, True),
    ],
)
def test_no_time_is_told_for_what_may_never_end_by_itself(
    reason: str, changed: dict[str, Any], *, is_estimated: bool
) -> None:
    pool = make_rolling_pool(waits=[make_wait(reason, "it waits", **changed)])

    head = drawn(rollout_blocks(pool, pool.machines, 100, NOW)).splitlines()[0]

    assert head.endswith(", about 20 s left") is is_estimated


def test_a_target_that_waits_for_its_turn_is_explained_from_where_machines_are() -> None:
    version = {"leaf": "release.version", "before": "1.34.2", "after": "1.34.3"}
    begun = [make_leaf(**version), make_leaf("imageBase", before="x", after="y")]
    next_one = [make_leaf(**version | {"before": "1.34.3", "after": "1.34.4"})]
    next_one.append(make_leaf("imageBase", before="y", after="x"))
    rollout = make_rollout(plan=make_plan(change="replace", leaves=begun, target="r2"))
    waiting = make_plan(change="replace", machines=["workers-1"], leaves=next_one, target="r3")

    text = drawn(explain_blocks(make_rolling_pool(rollout=rollout, plan=waiting), NOW))

    assert "  release.version  intent  pool owner  1.34.2  1.34.4\n" in text
    assert "imageBase" not in text, "it goes back to what machines have"
    same = make_plan(change="replace", machines=["workers-1"], leaves=begun, target="r2")
    text = drawn(explain_blocks(make_rolling_pool(rollout=rollout, plan=same), NOW))
    assert "  release.version  intent  pool owner  1.34.2  1.34.3\n" in text


def test_of_many_machines_those_that_move_are_shown() -> None:
    machines = [make_machine(f"workers-{at:03}") for at in range(50)]
    machines.append(make_machine("workers-900", phase="booting"))

    text = drawn(rollout_blocks(make_rolling_pool(), machines, 100, NOW))

    assert "workers-900" in text
    assert "and 39 more machines" in text


def test_a_pool_is_a_row() -> None:
    assert drawn([pool_grid([make_pool(held=[make_held()], state="Drifted")])]) == (
        "POOL     STATE    VERSION  DESIRED  UPDATED  AVAILABLE  HELD  WAITS FOR\n"
        "workers  Drifted  1.34.2   3        3        3          1     -\n"
    )


def test_a_machine_that_left_says_why() -> None:
    gone = make_machine(
        phase="leaving",
        reason="the pool was scaled down",
        gone_at="2026-11-20T11:59:00.000Z",
        sentence="workers-1 left: the pool was scaled down.",
        fault="stuck-drain",
        difference=[VERSION],
    )

    lines = drawn(explain_machine_blocks(gone, NOW)).splitlines()

    assert lines[0] == "workers-1 left: the pool was scaled down."
    assert "  phase     gone" in lines
    assert "  left      the pool was scaled down" in lines
    assert "  gone      60 s ago" in lines
    assert "  fault     stuck-drain (on request)" in lines
    assert "differs from its pool's target" in lines


def test_a_machine_that_booted_other_inputs_says_so() -> None:
    text = drawn(explain_machine_blocks(make_machine(booted="r0", heading_for="r2"), NOW))

    assert "  runs      revision r1, booted with the inputs of r0, on its way to r2\n" in text


def test_what_is_not_applied_and_what_machines_ignored_is_shown() -> None:
    ignored = ["fairlead[imageBase]", "fairlead[flux]", "fairlead[platform.code.renderer]"]
    machine = make_machine(ignored=ignored)
    lacking = [
        {"leaf": "imageBase", "why": "they boot one image"},
        {"leaf": "machineTemplate.vmSize", "why": "they have no size"},
        {"leaf": "osStream", "why": "they boot one image"},
    ]
    pool = make_pool(machines=[machine], not_applied=lacking)

    lines = drawn(pool_blocks(pool, NOW)).splitlines()

    at = lines.index("not applied by this kind of machine")
    assert lines[at + 1 : at + 3] == [
        "  imageBase, osStream: they boot one image",
        "  machineTemplate.vmSize: they have no size",
    ]
    assert "ignored at boot: fairlead[flux]" in lines, (
        "the rest is known, or no word of the owner's"
    )
    assert (
        f"  ignored   {', '.join(ignored)}"
        in drawn(explain_machine_blocks(machine, NOW)).splitlines()
    )


def test_the_story_of_a_machine_has_its_beginning_and_end() -> None:
    gone = make_machine(gone_at="2026-11-20T11:59:00.000Z")

    assert [told[1:] for told in story_of(gone)] == [
        ("MachineCreated", "", "workers-1 was made from r1."),
        ("MachineReady", "workers-1", "workers-1 is ready: its boot took 412 ms."),
        ("MachineGone", "", "workers-1 is gone."),
    ]


def test_a_moment_that_an_event_tells_is_not_told_twice() -> None:
    gone = make_machine(gone_at="2026-11-20T11:59:00.000Z")
    told = Event(
        kind=EventKind.MACHINE_GONE,
        pool="workers",
        at=NOW,
        key="MachineGone:workers-1",
        says="workers-1 is gone: deleted by hand.",
        machine="workers-1",
        actor="the control plane",
        asked_by="alice",
    )

    story = [(kind, whose) for _, kind, whose, _ in story_of(gone.but(events=(told,)))]

    assert story.count(("MachineGone", "alice")) == 1
    assert [kind for kind, _ in story].count("MachineGone") == 1


def test_the_overview_shows_pools_machines_events_and_what_to_try(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "fairlead").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    event = Event(
        kind=EventKind.POOL_ADOPTED,
        pool="workers",
        at=NOW,
        key="PoolAdopted:r1:0",
        says="Revision r1 is the first.",
    )
    pool = make_pool()

    lines = drawn(overview_blocks([pool], pool.machines, [event], 100, NOW)).splitlines()

    assert lines[0].startswith("workers  1.34.2  ━━━━━")
    assert lines[0].endswith("  3 of 3 up to date  Settled")
    assert lines[1] == "  settled: every machine has what is declared, no machine will be replaced"
    assert lines[4].startswith("workers-1  ready  412 ms  ████████████████████████  r1")
    assert "workers  Revision r1 is the first." in lines[8]
    assert lines[-4:] == [
        "  fairlead platform set proxy.image=haproxy@sha256:bb",
        "  fairlead pool show workers --yaml > pool.yaml   # and edit it",
        "  fairlead plan -f pool.yaml",
        "  fairlead timeline workers-1",
    ]


def test_what_to_try_follows_from_how_the_pools_stand() -> None:
    held = make_pool(state="Drifted", held=[make_held()])

    assert next_commands([], []) == ["fairlead apply -f examples/pool.yaml"]
    assert next_commands([held], [])[:2] == [
        "fairlead explain workers",
        "fairlead pool scale workers 4",
    ]
    assert next_commands([held, make_rolling_pool(name="gpu", held=[])], [])[0] == (
        "fairlead explain workers"
    )
    assert next_commands([make_rolling_pool()], []) == [
        "fairlead rollout watch workers",
        "fairlead explain workers",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 140])
def test_nothing_is_drawn_wider_than_there_is_room(width: int) -> None:
    pool = make_rolling_pool(waits=[make_wait("Halted", "x" * 200)])

    text = draw_plain(screen_blocks([pool], pool.machines, [], width), width)

    assert max(len(one) for one in text.splitlines()) <= width
