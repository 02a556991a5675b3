"""
Published hotfixes as plain facts, and which machine lacks one.

A fix is a fact of the platform: machines take it when they boot, and no revision names it. So
publishing, promoting or withdrawing one moves no hash. Where fixes are published an edge hands over
what it read; where none are, nothing is said and nothing changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from fairlead.contract.image_version import base_of, may_upgrade
from fairlead.rollout.machines import Machine


class Waves(Protocol):
    """How far a fix is on its way to all machines."""

    @property
    def part(self) -> float:
        """The part of all machines that it has reached."""

    def first_for(self, machine: str) -> int:
        """Return which wave, from 1, a machine waits for; 0 if it is given the fix now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """
    One fix that was published. since: when.

    stopped: why no machine that boots is given it any more, or ''. is_withdrawn: nor should one
    that has it keep it. waves: how far it is; None if it is for everyone.
    """

    version: str
    since: datetime
    stopped: str = ""
    is_withdrawn: bool = False
    waves: Waves | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    """Every fix that was published, by version. problem: why that cannot be read, or ''."""

    by_version: Mapping[str, Fix] = field(default_factory=dict)
    problem: str = ""


NO_FIXES = Fixes()


def no_fixes() -> Fixes:
    """Return that nothing is published: what there is where no edge brings a depot along."""
    return NO_FIXES


def fixes_of(published: Iterable[Fix]) -> Fixes:
    """Return fixes by their versions."""
    return Fixes(by_version={fix.version: fix for fix in published})


def is_for(version: str, agent: str) -> bool:
    """Say whether a fix is for the image that this agent was baked into. Bases are text."""
    base = base_of(agent)
    return base is not None and base == base_of(version)


def lacks(machine: Machine, version: str) -> bool:
    """Say whether a machine that booted would take this fix. One that has not booted lacks none."""
    return is_for(version, machine.agent) and may_upgrade(machine.agent, version)


def offered_to(agent: str, fixes: Fixes, machine: str = "") -> Fix | None:
    """
    Return the fix that a machine with this agent takes if it boots now, or None.

    machine: its name; without one, what all machines with this agent take in the end.
    """
    given = [fix for fix in _newer(agent, fixes) if not machine or not wave_awaited(fix, machine)]
    return _newest(given)


def awaited_by(agent: str, fixes: Fixes, machine: str) -> Fix | None:
    """Return the newest fix that is for a machine, but only from a later wave on, or None."""
    newest = _newest(_newer(agent, fixes))
    return newest if newest is not None and wave_awaited(newest, machine) else None


def wave_awaited(fix: Fix, machine: str) -> int:
    """Return the wave that a machine waits for before it is given this fix; 0 if for none."""
    return fix.waves.first_for(machine) if fix.waves is not None else 0


def _newer(agent: str, fixes: Fixes) -> list[Fix]:
    return [
        fix
        for fix in fixes.by_version.values()
        if not fix.stopped and is_for(fix.version, agent) and may_upgrade(agent, fix.version)
    ]


def _newest(fixes: Iterable[Fix]) -> Fix | None:
    found: Fix | None = None
    for fix in fixes:
        if found is None or may_upgrade(found.version, fix.version):
            found = fix
    return found
