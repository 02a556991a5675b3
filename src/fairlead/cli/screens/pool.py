"""Pools as people read them: a table of all, one in full, and the sentence that explains one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from fairlead.answers.leaf import LeafDifference
from fairlead.answers.plan import Plan
from fairlead.answers.pool import Condition, PoolAnswer, PoolDetail, Pools, RevisionName
from fairlead.cli.output import as_typed
from fairlead.cli.screens.blocks import (
    BAD,
    GOOD,
    QUIET,
    STRONG,
    WAITING,
    Block,
    Cell,
    Grid,
    Line,
    Toned,
    fact,
    line,
    told_once,
)
from fairlead.cli.screens.leaves import held_grid, leaf_grid
from fairlead.cli.screens.rollout import (
    STATE_TONES,
    machine_grid,
    problems_of,
    state_cell,
    wait_lines,
)
from fairlead.telling.spoken_time import age_of

NOT_APPLIED = "not applied by this kind of machine"

CONDITION_TONES = {"True": GOOD, "False": QUIET, "Unknown": BAD}


def pools_blocks(found: Pools, *, is_wide: bool = False) -> list[Block]:
    """Return all pools, or what to do if there is none."""
    if not found.pools:
        return [line(as_typed("no pool yet: fairlead apply -f examples/pool.yaml"))]
    return [pool_grid(found.pools, is_wide=is_wide)]


def pool_grid(pools: Iterable[PoolAnswer], *, is_wide: bool = False) -> Grid:
    """Return a table of pools; a wide one also says how they are rolled, and how they stand."""
    rows = tuple(
        (
            pool.name,
            state_cell(pool),
            pool.version,
            str(pool.desired),
            str(pool.updated),
            str(pool.available),
            str(len(pool.held) or ""),
            *((str(pool.total), pool.strategy.value) if is_wide else ()),
            "; ".join(wait.says for wait in pool.waits),
            *((pool.summary,) if is_wide else ()),
        )
        for pool in pools
    )
    counts = ("POOL", "STATE", "VERSION", "DESIRED", "UPDATED", "AVAILABLE", "HELD")
    if is_wide:
        return Grid((*counts, "TOTAL", "STRATEGY", "WAITS FOR", "SAYS"), rows)
    return Grid((*counts, "WAITS FOR"), rows)


def explain_blocks(pool: PoolDetail, now: datetime) -> list[Block]:
    """Return why machines of a pool are, or are not, being replaced."""
    blocks: list[Block] = [line(Toned(pool.summary, STATE_TONES[pool.state])), line(pool.sentence)]
    if leaves := _rolling_leaves(pool):
        blocks += [line(Toned("what changed", STRONG)), leaf_grid(leaves)]
    if pool.held:
        blocks += [line(Toned("held", STRONG)), held_grid(pool.held, now)]
    blocks += [*wait_lines(pool.waits, now), *way_lines(pool), *fix_lines(pool)]
    return told_once(blocks, problems_of(pool.machines))


def fix_lines(pool: PoolDetail) -> list[Block]:
    """Return the hotfixes that machines lack or should not have, one line each."""
    told = [*(one.says for one in pool.fixes), *filter(None, [pool.fixes_problem])]
    return [fact("hotfix", says) for says in told]


def way_lines(pool: PoolDetail) -> list[Block]:
    """Return the ways out of what only a person can end, one line each."""
    label = "  way out    "
    return [
        Line(
            (Toned(label, QUIET), Toned(way.command, STRONG), Toned(f"  {way.says}", QUIET)),
            hang=len(label),
        )
        for way in pool.verdict.ways
    ]


def _rolling_leaves(pool: PoolDetail) -> list[LeafDifference]:
    """Return the leaves of the rollout under way, or of what waits to be its next target."""
    held = {change.leaf for change in pool.held}
    bound = pool.rollout.plan if pool.rollout else None
    leaves = _superseded(bound, pool.plan) if bound else pool.plan.leaves
    return [leaf for leaf in leaves if leaf.leaf not in held]


def _superseded(bound: Plan, plan: Plan) -> tuple[LeafDifference, ...]:
    """Return what changes on the whole way, where another target waits for its turn."""
    if plan.target in ("", bound.target):
        return bound.leaves
    begun = {leaf.leaf: leaf for leaf in bound.leaves}
    known = {leaf.leaf for leaf in plan.leaves}
    whole = [
        leaf.but(before=begun[leaf.leaf].before) if leaf.leaf in begun else leaf
        for leaf in plan.leaves
    ]
    whole += [leaf for leaf in bound.leaves if leaf.leaf not in known]
    return tuple(leaf for leaf in whole if leaf.before != leaf.after)


def pool_blocks(pool: PoolDetail, now: datetime) -> list[Block]:
    """Return one pool in full."""
    facts: tuple[tuple[str, Cell], ...] = (
        ("state", state_cell(pool)),
        ("version", pool.version),
        ("machines", f"{pool.available} of {pool.desired} available, {pool.total} in all"),
        ("strategy", pool.strategy.value),
        ("applied", _revision(pool.applied)),
        ("target", _revision(pool.target)),
        ("paused", "yes" if pool.is_paused else ""),
        ("halted", Toned(pool.halted, BAD) if pool.halted else ""),
    )
    blocks: list[Block] = [line(Toned(pool.name, STRONG), ": ", pool.sentence)]
    blocks += [fact(name, value) for name, value in facts if value]
    blocks += [line(), machine_grid(pool.machines, now, indent=0)]
    if pool.held:
        blocks += [line(), held_grid(pool.held, now, indent=0)]
    blocks += not_applied_blocks(pool)
    blocks += [line(), condition_grid(pool.conditions, now)]
    told = [*wait_lines(pool.waits, now), *way_lines(pool), *fix_lines(pool)]
    blocks += [line(), *told] if told else []
    reasons = [one.why for one in pool.not_applied]
    return told_once(blocks, [*problems_of(pool.machines), *reasons])


def not_applied_blocks(pool: PoolDetail) -> list[Block]:
    """Return what is declared and not applied, and what else machines said they ignored."""
    blocks: list[Block] = []
    if pool.not_applied:
        blocks += [line(), line(Toned(NOT_APPLIED, STRONG))]
        for why in dict.fromkeys(one.why for one in pool.not_applied):
            leaves = ", ".join(one.leaf for one in pool.not_applied if one.why == why)
            blocks.append(line("  ", leaves, ": ", Toned(why, QUIET)))
    known = {f"fairlead[{one.leaf}]" for one in pool.not_applied}
    ignored = {path for machine in pool.machines for path in machine.ignored} - known
    # What the platform adds is no word of the owner's; `machine show` has it.
    if owned := sorted(path for path in ignored if not path.startswith("fairlead[platform.")):
        blocks += [line(), line(Toned("ignored at boot: ", QUIET), ", ".join(owned))]
    return blocks


def condition_grid(conditions: Iterable[Condition], now: datetime) -> Grid:
    """Return a table of conditions."""
    rows = tuple(
        (
            condition.type,
            Toned(condition.status, CONDITION_TONES.get(condition.status, WAITING)),
            condition.reason,
            age_of(condition.since, now),
            condition.message,
        )
        for condition in conditions
    )
    return Grid(("CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"), rows)


def _revision(revision: RevisionName | None) -> str:
    return f"{revision.id}, {revision.version}" if revision else ""
