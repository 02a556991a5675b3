"""Hotfixes as they are told: what a machine booted with, and which of a pool lack a fix. Pure."""

from collections import Counter
from collections.abc import Iterable

from fairlead.answers.fix import MachineFix, PoolFix
from fairlead.contract.hotfix.fact import HotfixFact
from fairlead.decision.explain import moment
from fairlead.rollout.fixes import Fix, Fixes, awaited_by, offered_to, wave_awaited
from fairlead.rollout.machines import Machine
from fairlead.telling.counted import counted

AT_NEXT_BOOT = "machines take it when they boot"


def machine_fix(fact: HotfixFact, fixes: Fixes, machine: str, pool: str) -> MachineFix | None:
    """
    Return what a machine of this name says of its boot, and what it would boot with now.

    None where no fix is known of: neither is any published, nor was one asked for.
    """
    agent = fact.used or fact.baked
    offered = offered_to(agent, fixes, machine)
    known = fixes.by_version.get(fact.used)
    withdrawn = known.stopped if known and known.is_withdrawn else ""
    is_known = fixes.by_version or fixes.problem or fact.wanted or fact.used
    if not agent or not is_known:
        return None
    return MachineFix(
        baked=fact.baked,
        used=fact.used,
        cause=fact.cause,
        would_boot_with=offered.version if offered else "",
        since=offered.since if offered else None,
        withdrawn=withdrawn,
        says=" ".join(
            (
                *_sentences(fact, offered, withdrawn, fixes.problem, pool),
                *_awaited(awaited_by(agent, fixes, machine), machine),
            )
        ),
    )


def _sentences(
    fact: HotfixFact, offered: Fix | None, withdrawn: str, problem: str, pool: str
) -> Iterable[str]:
    if fact.used:
        yield f"It booted with the fix {fact.used}, in the place of {fact.baked}."
    elif fact.wanted:
        cause = f": {fact.cause}" if fact.cause else ""
        yield f"It booted with {fact.baked} of its image and not with the fix {fact.wanted}{cause}."
    else:
        yield f"It booted with {fact.baked} of its image."
    if withdrawn:
        yield f"It runs with a withdrawn fix ({withdrawn}); a machine that boots now has it not."
    if offered:
        since = moment(offered.since)
        yield (
            f"It would have booted with {offered.version}, published at {since}: "
            f"fairlead pool adopt {pool} replaces those without it."
        )
    if problem:
        yield f"Whether it lacks a fix is not known: {problem}."


def _awaited(fix: Fix | None, machine: str) -> Iterable[str]:
    if fix is not None:
        wave = wave_awaited(fix, machine)
        yield (
            f"{fix.version}, published at {moment(fix.since)}, is for it from wave {wave} on; "
            f"{reached(fix)}."
        )


def reached(fix: Fix) -> str:
    """Return how far a fix is, where it is not for everyone; else ''."""
    if fix.waves is None or fix.waves.part >= 1:
        return ""
    return f"{fix.waves.part:.0%} of machines have their turn so far"


def pool_fixes(machines: Iterable[Machine], fixes: Fixes, way: str) -> tuple[PoolFix, ...]:
    """
    Return the fixes that machines of a pool lack or should not have, each with how many.

    way: what replaces machines without one, as a command and what it does.
    """
    staying = Counter(one.agent for one in machines if one.agent and not one.is_leaving)
    lacking: Counter[str] = Counter()
    withdrawn: Counter[str] = Counter()
    for agent, count in staying.items():
        if offered := offered_to(agent, fixes):
            lacking[offered.version] += count
        known = fixes.by_version.get(agent)
        if known and known.is_withdrawn:
            withdrawn[agent] += count
    told = [_lacked(fixes.by_version[version], lacking[version], way) for version in lacking]
    told += [_withdrawn(fixes.by_version[version], withdrawn[version]) for version in withdrawn]
    return tuple(sorted(told, key=lambda one: one.version))


def adopt_way(pool: str) -> str:
    """Return the way where our own steps replace machines."""
    return f"fairlead pool adopt {pool} replaces those without it"


def _lacked(fix: Fix, count: int, way: str) -> PoolFix:
    lack = "lacks" if count == 1 else "lack"
    says = (
        f"{counted(count)} {lack} the fix {fix.version}, published at {moment(fix.since)}; "
        f"{AT_NEXT_BOOT}: {way}"
    )
    if so_far := reached(fix):
        says = (
            f"{counted(count)} {lack} the fix {fix.version}, published at {moment(fix.since)}; "
            f"{AT_NEXT_BOOT} and their wave is open, {so_far}"
        )
    return PoolFix(version=fix.version, since=fix.since, machines=count, says=says)


def _withdrawn(fix: Fix, count: int) -> PoolFix:
    run = "runs" if count == 1 else "run"
    says = f"{counted(count)} {run} with the fix {fix.version}, and {fix.stopped}"
    return PoolFix(
        version=fix.version, since=fix.since, machines=count, says=says, stopped=fix.stopped
    )
