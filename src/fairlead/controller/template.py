"""
The template and the settings of running machines, as they should be.

A template names another revision only if a target was set in this very pass, or if the template
itself was lost.
"""

from dataclasses import replace

from fairlead.controller.moment import Moment
from fairlead.controller.observe import Snapshot
from fairlead.rollout.edge import is_held
from fairlead.rollout.machines import Template
from fairlead.rollout.plan import Situation
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.step import ApplySettings, ApplyTemplate, PointTemplate, Step


def template_of(here: Moment, record: PoolRecord, situation: Situation) -> Template | None:
    """Return the template as it should be, or None if there is nothing to point it at."""
    known, target = here.seen.template, record.target
    waits = here.seen.replaces_by_itself and is_held(situation)
    if here.is_leaving:
        # Nothing but the number of machines matters any more.
        return known and replace(known, replicas=here.desired, is_held=waits)
    may_apply = not situation.is_stopped and not here.wanted.policy.active_pause(here.now)
    settings = known.settings if known and not may_apply else here.wanted.policy.settings
    if target is None:
        return known
    if known is None:
        return Template(
            revision=target.id,
            version=target.version,
            machine_template=target.machine_template,
            replicas=here.desired,
            settings=settings,
            observed_generation=0,
            is_held=waits,
        )
    present = replace(known, replicas=here.desired, settings=settings, is_held=waits)
    if known.revision == target.id:
        return present
    return replace(
        present,
        revision=target.id,
        version=target.version,
        machine_template=target.machine_template,
        generation=known.generation + 1,
    )


def template_steps(seen: Snapshot, template: Template | None) -> list[Step]:
    """Return the step that makes the template so."""
    if template is None or template == seen.template:
        return []
    if seen.template is None or seen.template.revision != template.revision:
        return [PointTemplate(template)]
    return [ApplyTemplate(template)]


def setting_steps(here: Moment, situation: Situation) -> list[Step]:
    """Return the steps that bring settings to running machines."""
    waits = situation.is_stopped or here.wanted.policy.active_pause(here.now)
    if waits or here.wanted.problems or here.is_leaving:
        return []
    settings = here.wanted.policy.settings
    return [
        ApplySettings(machine.name, settings)
        for machine in here.seen.machines
        if not machine.is_leaving and machine.settings != settings
    ]
