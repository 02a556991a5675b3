"""What machines booted with that reported it to a release which did not note it."""

from __future__ import annotations

from dataclasses import replace

from fairlead.contract.boot_report import parse_report
from fairlead.contract.hotfix.fact import agent_in
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import InputError

_UNNOTED = (
    "SELECT m.name, m.pool FROM machines m JOIN reports r ON r.machine = m.name "
    "WHERE m.gone_at IS NULL AND m.phase = 'ready' "
    "AND coalesce(json_extract(m.value, '$.agent'), '') = '' ORDER BY m.number"
)


def note_agents(world: EmbeddedWorld) -> int:
    """Note the agent of machines whose report says it; return of how many. Damage is left alone."""
    damaged = world.store.damage.pools
    names = [row["name"] for row in world.store.rows(_UNNOTED) if row["pool"] not in damaged]
    count = 0
    for name in names:
        stored = world.machines.find_machine(name)
        if stored is not None and (agent := _agent_of(stored.report)):
            world.machines.write_machine(replace(stored.machine, agent=agent))
            count += 1
    return count


def _agent_of(report: bytes) -> str:
    try:
        return agent_in(parse_report(report))
    except InputError:
        return ""
