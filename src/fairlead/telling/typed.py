"""
Commands that answers suggest, as they reach the same control plane when they are typed. Pure.

Sentences name a command by its program alone. Whoever asked a cluster says more than that.
"""

from __future__ import annotations

import re
from typing import TypeVar

from fairlead.answers.machine import MachineDetail
from fairlead.answers.pool import PoolAnswer, PoolDetail

PROGRAM = "fairlead"

# Commands that a control plane answers. Those about a depot or files are the same everywhere.
_ASKING = r"(?:apply|events|explain|machine|plan|platform|pool|rollout)\b|timeline (?!show\b)"
_COMMAND = re.compile(rf"\b{PROGRAM} (?={_ASKING})")

Told = TypeVar("Told", bound=PoolAnswer)


def typed_text(text: str, program: str) -> str:
    """Return a sentence whose commands begin with this, in the place of `fairlead`."""
    return text if program == PROGRAM else _COMMAND.sub(lambda _: f"{program} ", text)


def typed_pool(pool: Told, program: str) -> Told:
    """Return a pool whose ways out begin with this."""
    pool = pool.but(sentence=typed_text(pool.sentence, program))
    if not isinstance(pool, PoolDetail):
        return pool
    ways = tuple(way.but(command=typed_text(way.command, program)) for way in pool.verdict.ways)
    command = typed_text(pool.verdict.command, program)
    fixes = tuple(fix.but(says=typed_text(fix.says, program)) for fix in pool.fixes)
    return pool.but(verdict=pool.verdict.but(command=command, ways=ways), fixes=fixes)


def typed_machine(machine: MachineDetail, program: str) -> MachineDetail:
    """Return a machine whose ways out begin with this."""
    fix = machine.fix
    return machine.but(
        sentence=typed_text(machine.sentence, program),
        fix=fix.but(says=typed_text(fix.says, program)) if fix else None,
    )
