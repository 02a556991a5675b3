"""
The template and the settings of running machines, as they should be.

A template names another revision only if a target was set in this very pass, or if the template
itself was lost.
"""

from collections.abc import Iterable
from dataclasses import replace

from fairlead.controller.observe import Snapshot
from fairlead.controller.revise import Wanted
from fairlead.rollout.edge import fix_turn, is_held
from fairlead.rollout.machines import Machine, Template
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.situation import Situation, is_waiting
from fairlead.rollout.step import ApplySettings, ApplyTemplate, PointTemplate, Step

# What a template is that names nothing yet; the edge has seen as little of it.
UNTOLD = Template(
    revision="", version="", machine_template={}, replicas=0, generation=0, observed_generation=0
)


def template_of(wanted: Wanted, record: PoolRecord, situation: Situation) -> Template | None:
    """Return the template as it should be, or None if there is nothing to point it at."""
    known, target = wanted.seen.template, record.target
    waits = wanted.edge_replaces and is_held(situation)
    if situation.is_leaving:
        # Nothing but the number of machines matters any more.
        surge = known.surge if known and situation.is_stopped else 0
        return known and replace(known, replicas=situation.desired, is_held=waits, surge=surge)
    if target is None:
        return known
    settings = known.settings if known and is_waiting(situation) else wanted.policy.settings
    told = known or UNTOLD
    told = replace(told, replicas=situation.desired, settings=settings, is_held=waits)
    if wanted.edge_makes and not (known and wanted.problems):
        surge = fix_turn(situation, known).surge if wanted.edge_replaces else 0
        told = replace(told, pacing=wanted.policy.pacing, surge=surge)
    if told.revision == target.id:
        return told
    return replace(
        told,
        revision=target.id,
        version=target.version,
        machine_template=target.machine_template,
        generation=told.generation + 1,
    )


def template_steps(seen: Snapshot, template: Template | None) -> tuple[Step, ...]:
    """Return the step that makes the template so."""
    if template is None or template == seen.template:
        return ()
    if seen.template is None or seen.template.revision != template.revision:
        return (PointTemplate(template),)
    return (ApplyTemplate(template),)


def setting_steps(wanted: Wanted, after: Iterable[Machine]) -> tuple[Step, ...]:
    """
    Return the steps that bring settings to running machines. after: those of this very pass.

    A pause, or the end of the pool, holds settings back; it does not keep the limits of a drain
    and of detaching volumes from machines that leave.
    """
    if wanted.is_stopped or wanted.problems:
        return ()
    is_held = wanted.policy.active_pause(wanted.now) is not None or wanted.is_leaving
    leaving = {machine.name for machine in after if machine.is_leaving}
    steps = []
    for machine in wanted.seen.machines:
        settings = wanted.policy.settings
        if is_held and machine.name in leaving:
            settings = replace(
                machine.settings,
                drain_timeout=settings.drain_timeout,
                detach_timeout=settings.detach_timeout,
            )
        elif is_held:
            settings = machine.settings
        if settings != machine.settings:
            steps.append(ApplySettings(machine.name, settings))
    return tuple(steps)
