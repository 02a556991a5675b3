"""One machine as it is told: what it lacks, and why it is or is not being replaced."""

from datetime import datetime

from fairlead.answers.leaf import LeafDifference
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import World, observe
from fairlead.controller.think import think
from fairlead.rollout.machines import Machine
from fairlead.telling.machine import differences_of, sentence_about

Standing = tuple[tuple[LeafDifference, ...], str]


def standing_of(machine: Machine, world: World, now: datetime) -> Standing:
    """Return what a machine lacks, and the sentence about it."""

    def standing() -> Standing:
        seen = observe(machine.pool, world)
        thought = think(seen, now)
        difference = differences_of(machine, seen, thought)
        return difference, sentence_about(machine, seen, thought, now)

    found = attempt(standing)
    if isinstance(found, Failed):
        return (), f"{machine.name} stays: its pool cannot be thought about: {found.says}."
    return found
