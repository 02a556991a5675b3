"""Every screen, from worlds in which something goes on: at 40 and 80 columns, in a pipe and not."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import cast

import pytest

from fairlead.answers.machine import MachineDetail, Machines
from fairlead.answers.pool import KeptDocument, PoolDetail, PoolHistory, Pools
from fairlead.answers.reply import Authorities, Authority, Identity
from fairlead.answers.words import Role
from fairlead.boots.boot import boot_timeline_of, parse_boots
from fairlead.boots.compare import compare_boots
from fairlead.boots.draw_text import draw_comparison, draw_text
from fairlead.cli.output import STATE_PATH, OutputStream
from fairlead.cli.screens.access import authority_blocks, identity_blocks
from fairlead.cli.screens.blocks import Block, Grid, line
from fairlead.cli.screens.colours import print_blocks
from fairlead.cli.screens.diff import Difference, difference_blocks
from fairlead.cli.screens.history import history_blocks
from fairlead.cli.screens.inspection import inspection_blocks
from fairlead.cli.screens.layout import columns_of
from fairlead.cli.screens.live import fit
from fairlead.cli.screens.machine import (
    event_line,
    event_story,
    explain_machine_blocks,
    machine_blocks,
    machines_blocks,
    story_blocks,
)
from fairlead.cli.screens.overview import screen_blocks
from fairlead.cli.screens.plan import plan_blocks
from fairlead.cli.screens.platform import effect_blocks, platform_grid
from fairlead.cli.screens.pool import explain_blocks, pool_blocks, pools_blocks
from fairlead.cli.screens.rollout import plain_line, progress_line, rollout_blocks
from fairlead.cli.screens.show import draw_plain, write_blocks
from fairlead.controller.observe import observe
from fairlead.controller.think import think
from fairlead.embedded.machines.place import ROOT
from fairlead.embedded.not_applied import NOT_APPLIED
from fairlead.proposal.leaves import pool_differences
from fairlead.sim.world import SimWorld
from fairlead.telling.machine import differences_of, machine_answer, sentence_about
from fairlead.telling.platform import platform_answer
from fairlead.telling.pool import pool_detail
from fairlead.userdata.inspect import inspect_user_data
from pool_documents import pool_document
from transitions.pool_worlds import POOL, drift, edit, fresh_world, settled_world
from unit.boots.reports import example

STATE = "/var/lib/somewhere/quite/deep/below/state"
HOSTILE = (
    f"stage provision: [Errno 21] Is a directory: '{STATE}/machines/workers-9/{ROOT}/etc/x\x1b[2J' "
    "\u202e漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 ended\nbadly"
)
SHOWN_CAUSE = r"stage provision: Is a directory: '/etc/x\x1b[2J' \u202e漢字"


def new() -> SimWorld:
    return fresh_world()


def settled() -> SimWorld:
    return settled_world(replicas=20)


def drifted() -> SimWorld:
    world = settled_world()
    drift(world, "registry.example.com/" + "x" * 90 + "@sha256:" + "b" * 64)
    world.settle()
    return world


def rolling() -> SimWorld:
    world = settled_world()
    edit(world, release={"version": "1.35.0"})
    for _ in range(3):
        world.one_pass()
    return world


def failing() -> SimWorld:
    """Two machines failed for one cause, and what they say is hostile."""
    world = rolling()
    world.run_machines()
    for name in sorted(world.living)[-2:]:
        world.fail(name, HOSTILE)
    world.one_pass()
    return world


def paused() -> SimWorld:
    world = settled_world()
    edit(world, paused=True, release={"version": "1.35.0"})
    world.one_pass()
    return world


def leaving() -> SimWorld:
    world = settled_world()
    world.stuck = set(world.living)
    world.delete_pool()
    world.one_pass()
    return world


WORLDS: dict[str, Callable[[], SimWorld]] = {
    make.__name__: make for make in (new, settled, drifted, rolling, failing, paused, leaving)
}


def detail(world: SimWorld) -> PoolDetail:
    seen = observe(POOL, world.world())
    machines = [machine_answer(machine) for machine in seen.machines]
    now = world.clock.now
    seen = replace(seen, not_applied=NOT_APPLIED)
    return pool_detail(seen, think(seen, now), now, machines)


def machine_details(world: SimWorld) -> Iterator[MachineDetail]:
    seen = observe(POOL, world.world())
    thought = think(seen, world.clock.now)
    for machine in seen.machines:
        yield MachineDetail(
            **machine_answer(machine).parts(),
            report=None,
            events=world.read_events(POOL),
            difference=differences_of(machine, seen, thought),
            sentence=sentence_about(machine, seen, thought, world.clock.now),
        )


def history(world: SimWorld) -> PoolHistory:
    documents = (pool_document(), world.documents[POOL].pool)
    kept = [
        KeptDocument(number=at, at=world.clock.now, document=document, actor="ada")
        for at, document in enumerate(documents, 1)
    ]
    return PoolHistory(pool=POOL, documents=tuple(kept))


IDENTITY = Identity(
    name="ada@example.com\x1b[2J",
    role=Role.POOL_OWNER,
    because="the group platform-engineers-of-the-whole-company has this role",
)


def authorities(now: datetime) -> Authorities:
    present, coming = (
        Authority(fingerprint=digit * 64, since=now, until=now + timedelta(days=9), days_left=9)
        for digit in "ab"
    )
    return Authorities(
        authority=present,
        server_until=now + timedelta(days=9),
        next=coming,
        takes_over_at=now + timedelta(days=3),
    )


def screens(world: SimWorld, width: int) -> dict[str, list[Block]]:
    """Every screen that is made of blocks, by the command that shows it."""
    pool, now, events = detail(world), world.clock.now, world.read_events(POOL)
    found = Machines(machines=pool.machines)
    one = list(machine_details(world))[:2]
    documents = world.documents[POOL]
    differences = pool_differences(pool_document(replicas=1), documents.pool)
    platform = platform_answer(documents.platform, {}, world.records)
    return {
        "up": screen_blocks([pool], pool.machines, events, width),
        "pool list": pools_blocks(Pools(pools=(pool,))),
        "pool list -o wide": pools_blocks(Pools(pools=(pool,)), is_wide=True),
        "pool list, none": pools_blocks(Pools(pools=())),
        "pool show": pool_blocks(pool, now),
        "pool history": history_blocks(history(world)),
        "explain": explain_blocks(pool, now),
        "explain machine": [block for each in one for block in explain_machine_blocks(each, now)],
        "machine list": machines_blocks(found, now),
        "machine list -o wide": machines_blocks(found, now, is_wide=True),
        "machine show": [block for each in one for block in machine_blocks(each, now)],
        "rollout status": rollout_blocks(pool, pool.machines, width, now),
        "plan": plan_blocks([pool.plan]),
        "diff": difference_blocks([Difference("NodePool/workers", differences)]),
        "platform list": [platform_grid(platform.leaves)],
        "platform set": effect_blocks([pool.plan]),
        "events": story_blocks(event_story(events)),
        "events --follow": [event_line(event) for event in events],
        "rollout watch in a pipe": [line(progress_line(pool, pool.machines))],
        "rollout watch, at its end": [line(plain_line(pool.verdict.needs, pool.machines))],
        "certificates show": authority_blocks(authorities(now)),
        "whoami": identity_blocks(IDENTITY),
        "userdata inspect": inspection_blocks(inspect_user_data(b"#cloud-config\nruncmd: [x]\n")),
    }


@cache
def drawn(world: str, width: int | None) -> dict[str, str]:
    token = STATE_PATH.set(STATE)
    try:
        blocks = screens(WORLDS[world](), width or 110)
        return {name: draw_plain(found, width) for name, found in blocks.items()}
    finally:
        STATE_PATH.reset(token)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("width", [40, 80])
def test_no_line_of_any_screen_is_wider_than_the_terminal(world: str, width: int) -> None:
    for name, text in drawn(world, width).items():
        wide = [one for one in text.splitlines() if columns_of(one) > width]
        assert wide == [], name


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("width", [40, 80, None])
def test_no_screen_holds_what_a_terminal_obeys(world: str, width: int | None) -> None:
    for name, text in drawn(world, width).items():
        assert all(mark.isprintable() or mark == "\n" for mark in text), name


WORD = re.compile(r"[A-Za-z0-9.]+")


@pytest.mark.parametrize("world", WORLDS)
def test_a_narrow_screen_leaves_no_value_out(world: str) -> None:
    """What a pipe gets is on a narrow terminal too, however it is folded; headings aside."""
    narrow, whole = drawn(world, 80), drawn(world, None)

    for name in set(whole) - {"up", "rollout status"}:
        folded = "".join(narrow[name].split())
        values = [one for one in whole[name].splitlines() if one.upper() != one]
        missing = [word for word in WORD.findall("\n".join(values)) if word not in folded]
        assert missing == [], name


def test_columns_are_those_of_the_command_whatever_goes_on() -> None:
    for command in ("pool list", "machine list", "pool list -o wide", "machine list -o wide"):
        columns = {
            tuple(re.split(r"  +", drawn(world, None)[command].splitlines()[0]))
            for world in set(WORLDS) - {"new"}  # which has no machine to list
        }
        assert len(columns) == 1


@pytest.mark.parametrize(
    "screen", ["pool show", "rollout status", "up", "machine list", "rollout watch in a pipe"]
)
def test_a_cause_is_told_once_and_paths_as_the_machine_has_them(screen: str) -> None:
    text = " ".join(drawn("failing", None)[screen].split())

    assert STATE not in text
    assert "Errno" not in text
    if screen != "machine list":  # which says of each machine what is wrong with it
        assert text.count(SHOWN_CAUSE) == 1
        assert "(as above)" in text
    else:
        assert text.count(SHOWN_CAUSE) == 2


@pytest.mark.parametrize("width", [40, 80, None])
def test_what_is_not_applied_has_its_heading_and_each_reason_once(width: int | None) -> None:
    text = " ".join(drawn("settled", width)["pool show"].split())

    assert text.count("machines here boot the one image that they are given") == 1
    heading = "not applied by this kind of machine"
    assert f"{heading} imageBase, release.digest, release.version: machines here boot" in text


def test_many_machines_are_cut_and_counted() -> None:
    assert "and 8 more machines\n" in drawn("settled", 80)["rollout status"]
    assert "and 8 more machines\n" in drawn("settled", 80)["up"]


def test_what_has_no_room_on_a_low_terminal_is_counted() -> None:
    lines = [line(str(at)) for at in range(30)]

    assert draw_plain(fit(lines, 30)).endswith("\n29\n")
    assert draw_plain(fit(lines, 10)).endswith("\n8\nand 21 more lines\n")
    assert draw_plain(fit(lines, 0)) == "0\nand 29 more lines\n"


@pytest.mark.parametrize("width", [40, 80])
def test_waterfalls_fit(width: int) -> None:
    boots = [
        boot_timeline_of(parse_boots(example(name).read_bytes())[-1])
        for name in ("bookworm", "trixie")
    ]
    differences = compare_boots([boots[0]], [boots[1]])

    for text in (draw_text(boots[0], width), draw_comparison(differences, width)):
        assert max(len(one) for one in text.splitlines()) <= width


def test_nothing_is_coloured_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    raw = io.StringIO()
    stream = cast("io.TextIOWrapper", OutputStream(raw, is_heard=True))

    for blocks in screens(failing(), 80).values():
        write_blocks(blocks, stream)

    assert "\x1b" not in raw.getvalue()
    assert "workers" in raw.getvalue()


class Screen(io.StringIO):
    """A terminal that keeps what it is told."""

    def isatty(self) -> bool:
        return True


COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("width", [40, 80])
def test_colours_are_all_that_a_terminal_gets_besides(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("NO_COLOR", raising=False)
    raw = Screen()
    stream = cast("io.TextIOWrapper", OutputStream(raw, is_heard=True))

    for name, blocks in screens(failing(), width).items():
        raw.seek(0)
        raw.truncate()
        print_blocks(blocks, stream)
        text = COLOUR.sub("", raw.getvalue())
        assert text == draw_plain(blocks, width), name
        assert all(mark.isprintable() or mark == "\n" for mark in text), name


def test_a_file_that_somebody_is_to_write_is_told_where_it_is() -> None:
    token = STATE_PATH.set(STATE)
    try:
        says = f"write it to {STATE}/secrets/login; see {STATE}/machines"
        assert draw_plain([line(says)]) == (
            "write it to /var/lib/somewhere/quite/deep/below/state/secrets/login; "
            "see STATE/machines\n"
        )
    finally:
        STATE_PATH.reset(token)


def test_a_row_is_a_line_in_a_pipe_and_a_card_where_there_is_no_room() -> None:
    grid = Grid(("NAME", "STATE", "SAYS"), (("workers", "", "a sentence of some length here"),))

    assert draw_plain([grid]) == (
        "NAME     STATE  SAYS\nworkers  -      a sentence of some length here\n"
    )
    assert draw_plain([grid], 40) == (
        "NAME     STATE  SAYS\nworkers  -      a sentence of some\n                length here\n"
    )
    assert draw_plain([grid], 30) == (
        "NAME     STATE\nworkers  -\n  says: a sentence of some\n    length here\n"
    )
    assert draw_plain([grid], 13) == (
        "workers\n  says  a\n      sentenc\n      e of\n      some\n      length\n      here\n"
    )


def test_ages_are_told_by_whoever_looks() -> None:
    world = settled()

    early = draw_plain(machines_blocks(Machines(machines=detail(world).machines), world.clock.now))
    later = world.clock.now + timedelta(days=2)

    assert early != draw_plain(machines_blocks(Machines(machines=detail(world).machines), later))


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    assert [columns_of(text) for text in ("abc", "漢字", "e\u0301", "→", "")] == [3, 4, 1, 1, 0]
    assert draw_plain([line("漢" * 6)], 8) == "漢漢漢\n  漢漢漢\n"
