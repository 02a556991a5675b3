"""
What the embedded edge needs of a kind of machine: power, signs of life, and its last words.

Every operation is safe to repeat. Machines outlive the control plane: one that was killed finds
them again by name.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fairlead.answers.words import Fault


class Life(enum.Enum):
    """What can be seen of a machine from outside."""

    ABSENT = "absent"  # nothing of it is here
    OFF = "off"  # it is here, does not run, and left no verdict of a boot
    BOOTING = "booting"  # it runs, and there is no verdict yet
    UP = "up"  # its boot left a verdict, and it is alive
    DOWN = "down"  # its boot left a verdict, and it no longer runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """
    What a machine is given to boot from: a NoCloud seed.

    instance: another value makes cloud-init, and an in-place change, treat the boot as a first.
    image_files: what a disk that never had a seed gets besides, as if its image had it.
    """

    hostname: str
    instance: str
    user_data: bytes
    image_files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """
    The end of what a machine printed since it last got power, and what is known of its boot.

    power: another value if it got power again; '' if it never did. begin: how many bytes it
    printed before these.
    """

    power: str
    begin: int
    data: bytes
    last_words: str


class MachineKind(Protocol):
    """One way to have machines on this computer."""

    name: str

    def power_on(self, machine: str, seed: Seed | None, fault: Fault) -> None:
        """
        Start a boot from this seed, unless one from the same seed is under way.

        A machine that is up boots again; one that has another seed forgets what the earlier one
        put in place and keeps the rest of its disk. None: from whatever it has, as a machine that
        somebody reboots. Raises UnavailableError.
        """

    def life_of(self, machine: str) -> Life:
        """Return what can be seen of it."""

    def last_words(self, machine: str) -> str:
        """Return how far its boot came and what stopped it, in one line; '' if it left nothing."""

    def destroy(self, machine: str) -> None:
        """Afterwards nothing of it runs and nothing of it is here."""

    def list_names(self) -> tuple[str, ...]:
        """Return every machine that has something here, sorted."""
