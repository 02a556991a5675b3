"""
What becomes of one machine next, from what is stored of it and what can be seen of it. Pure.

A machine is ready because it said so, and because nothing that can be seen of it says otherwise: a
report alone, of a machine that never ran or no longer does, makes none ready. What can be seen
from outside also decides when to give it power again, and what to tell of one that says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead.answers.words import Fault, Phase
from fairlead.boots.failure import failure_text
from fairlead.contract.boot_report import BootReport, parse_report
from fairlead.contract.hotfix.fact import agent_in
from fairlead.embedded.machines.kind import Life
from fairlead.embedded.store.machines import StoredMachine
from fairlead.errors import InputError
from fairlead.rollout.machines import Machine
from fairlead.rollout.secrets import TOKEN_LIFE

# An agent that died is started again after this long, as a cloud restarts a machine that fell.
RESTART_AFTER = timedelta(seconds=2)

# A report that was sent while no control plane listened is lost; a further boot sends it again.
LOST_REPORT_AFTER = timedelta(seconds=15)

# Longer than a boot takes; a machine that says nothing after it is quoted from its own record.
QUIET_AFTER = timedelta(seconds=5)

STUCK = "its drain does not end: a disruption budget allows no eviction"
BROKEN = "it broke, on request"
VANISHED = "nothing of it is left on this computer"
FALLEN = "it no longer runs"
NEVER_FETCHED = "it reported a boot and never fetched its node config"
UNSEEN = "it reported a good boot, of which nothing can be seen here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """
    What can be seen of a machine from outside.

    last_words: how far its boot came. leaving_since: when it was told to leave, if it was.
    """

    life: Life
    last_words: str = ""
    leaving_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class PowerOn:
    """Give it power, with the user data of this revision and a token of its own."""

    revision: str


@dataclass(frozen=True, slots=True)
class Restart:
    """Give it power; it has everything that it boots from."""


@dataclass(frozen=True, slots=True)
class Destroy:
    """Take it away; it has drained."""


@dataclass(frozen=True, slots=True)
class Become:
    """It is another now; nothing has to be done to it."""

    machine: Machine


Move = PowerOn | Restart | Destroy | Become


def next_move(stored: StoredMachine, sight: Sight, now: datetime) -> Move | None:
    """Return what happens to the machine at this moment, or None."""
    machine = stored.machine
    if machine.is_leaving:
        return _leave(stored, sight, now)
    if stored.fault is Fault.BREAK and machine.phase is not Phase.FAILED:
        return _fail(machine, BROKEN)
    if machine.phase is Phase.FAILED:
        return None
    if machine.is_in_flight:
        return _change(stored, sight, now)
    if machine.phase is Phase.BOOTING:
        return _boot(stored, sight, now)
    return _live(machine, sight, now)


def _leave(stored: StoredMachine, sight: Sight, now: datetime) -> Move | None:
    machine = stored.machine
    limit = machine.settings.drain_timeout
    waited = now - sight.leaving_since if sight.leaving_since else timedelta()
    is_over = machine.skips_drain or (limit is not None and waited >= limit)
    if stored.fault is not Fault.STUCK_DRAIN or is_over:
        return Destroy()
    return _told(machine, STUCK)


def _boot(stored: StoredMachine, sight: Sight, now: datetime) -> Move | None:
    machine = stored.machine
    report = _report_of(stored)
    if report is not None and _is_borne_out(report, sight):
        return _judge(machine, report, now)
    if _needs_power(stored, sight, now):
        return PowerOn(machine.revision)
    if report is not None:
        return _told(machine, UNSEEN)
    if now - machine.created_at < QUIET_AFTER:
        return None
    return _told(machine, sight.last_words)


def _is_borne_out(report: BootReport, sight: Sight) -> bool:
    """Say whether what can be seen agrees with a report. Nobody gains by a bad one."""
    return report.exit_code != 0 or sight.life is Life.UP


def _needs_power(stored: StoredMachine, sight: Sight, now: datetime) -> bool:
    if stored.powered_at is None:
        return True
    if stored.fault is Fault.NEVER_JOIN:
        return False
    return now - stored.powered_at >= _patience(stored, sight)


def _patience(stored: StoredMachine, sight: Sight) -> timedelta:
    """Return how long after its power a machine that settled nothing is given power again."""
    if sight.life not in (Life.BOOTING, Life.UP):
        return RESTART_AFTER
    # A boot may take as long as it likes, but what it could say after its token's end is lost.
    is_under_way = sight.life is Life.BOOTING and _report_of(stored) is None
    return TOKEN_LIFE if is_under_way else LOST_REPORT_AFTER


def _judge(machine: Machine, report: BootReport, now: datetime) -> Move | None:
    if report.exit_code != 0:
        return _fail(machine, failure_text(report))
    if not machine.booted:
        return _fail(machine, NEVER_FETCHED)
    agent = agent_in(report)
    return Become(replace(machine, phase=Phase.READY, ready_at=now, problem="", agent=agent))


def _change(stored: StoredMachine, sight: Sight, now: datetime) -> Move | None:
    machine = stored.machine
    if stored.powered_for != machine.heading_for:
        return PowerOn(machine.heading_for)
    report = _report_of(stored)
    if report is None or not _is_borne_out(report, sight):
        return PowerOn(machine.heading_for) if _needs_power(stored, sight, now) else None
    if report.exit_code != 0:
        return _fail(machine, failure_text(report))
    changed = replace(machine, revision=machine.heading_for, heading_for="", problem="")
    changed = replace(changed, agent=agent_in(report))
    return Become(replace(changed, phase=Phase.READY, ready_at=now, since=None))


def _live(machine: Machine, sight: Sight, now: datetime) -> Move | None:
    if sight.life is Life.UP:
        if machine.phase is Phase.READY:
            return _told(machine, "")
        return Become(replace(machine, phase=Phase.READY, ready_at=now, problem="", since=None))
    if sight.life is Life.ABSENT:
        return _fail(machine, VANISHED)
    if machine.phase is Phase.READY or machine.since is None:
        fallen = replace(machine, phase=Phase.NOT_READY, ready_at=None, problem=FALLEN)
        return Become(replace(fallen, since=now))
    return Restart() if sight.life in (Life.DOWN, Life.OFF) else None


def _report_of(stored: StoredMachine) -> BootReport | None:
    """Return what it said of the boot that it was last given power for."""
    if not stored.report or stored.reported_at is None or stored.powered_at is None:
        return None
    if stored.reported_at < stored.powered_at:
        return None
    try:
        return parse_report(stored.report)
    except InputError:
        return None


def _fail(machine: Machine, problem: str) -> Become:
    return Become(replace(machine, phase=Phase.FAILED, ready_at=None, problem=problem))


def _told(machine: Machine, problem: str) -> Become | None:
    return None if machine.problem == problem else Become(replace(machine, problem=problem))
