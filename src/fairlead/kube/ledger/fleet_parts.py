"""
What replicas know of the machines of a fleet, written together: PARTS objects for each component.

Boots are told to it and waited for by nobody: what one replica heard is written when there was
time, the longer a text, the later. A replica that is killed takes along what it did not write.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime

from fairlead.hotfix.service.ledger import Asker, EndedBoot
from fairlead.kube.client import KubeClient
from fairlead.kube.ledger import fleet_part
from fairlead.kube.ledger.fleet_part import Part
from fairlead.kube.ledger.fleet_text import PART_FORM
from fairlead.kube.ledger.line import key_of
from fairlead.kube.ledger.shared_text import SharedText
from fairlead.kube.resource import GROUP

# With MOST_MACHINES in each, and the usual names, a fleet of 80,000.
PARTS = 32

# How parts are found among ledgers: its value is fleet_name.
LABEL = f"{GROUP}/ledger"

# Of one text, so that a server keeps the history of all of them.
CHARACTERS_A_SECOND = 10_000


def fleet_name(component: str) -> str:
    """Return what names of all parts begin with."""
    return f"fleet-{component}"


class FleetParts:
    """What this replica heard, and what of it is not written yet."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._parts: dict[tuple[str, int], SharedText[Part]] = {}
        self._write_after: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()

    def note(self, asker: Asker, version: str, now: datetime) -> None:
        """Note that a machine asked and what it was told."""
        at = int(now.timestamp())
        self._part(asker.component, asker.machine).later(
            lambda part: fleet_part.note(part, asker, version, at)
        )

    def end_boot(self, boot: EndedBoot, now: datetime) -> None:
        """Keep how a boot ended."""
        self._part(boot.asker.component, boot.asker.machine).later(
            lambda part: fleet_part.end_boot(part, boot, now)
        )

    def forget(self, component: str, machine: str) -> None:
        """Drop a machine that is gone."""
        self._part(component, machine).later(lambda part: fleet_part.forget(part, machine))

    def write(self, *, is_last: bool = False) -> None:
        """
        Write what may be written now; is_last: all of it. Raises UnavailableError.

        After one that could not be written the others wait for their next turn, and go first then.
        """
        with self._lock:
            waiting = [(key, one) for key, one in self._parts.items() if one.has_later]
        for key, shared in waiting:
            if not is_last and time.monotonic() < self._write_after.get(key, 0.0):
                continue
            with self._lock:
                self._parts[key] = self._parts.pop(key)
            shared.flush()
            self._write_after[key] = time.monotonic() + shared.size / CHARACTERS_A_SECOND

    def _part(self, component: str, machine: str) -> SharedText[Part]:
        key = (component, sum(key_of(machine).encode()) % PARTS)
        with self._lock:
            if key not in self._parts:
                fleet = fleet_name(component)
                self._parts[key] = SharedText(
                    *(self._client, self._namespace, f"{fleet}-{key[1]}", PART_FORM),
                    labels={LABEL: fleet},
                )
            return self._parts[key]
