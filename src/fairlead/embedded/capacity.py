"""How many machines of one pool this computer holds, by their kind."""

from __future__ import annotations

import os

from fairlead.inputs.bounds import MOST_MACHINES
from fairlead.rollout.machines import Capacity

# Bytes. An allowance, no measurement, for a container at rest with systemd, containerd and a
# kubelet: a computer that runs out of memory kills what it runs for others.
CONTAINER_BYTES = 128 << 20

MEBIBYTE = 1 << 20


def capacity_of(kind: str, memory_bytes: int) -> Capacity:
    """Return what machines of a kind one pool may have. Directories only cost their files."""
    if kind != "nspawn":
        return Capacity(MOST_MACHINES, "as many as are measured in one pool of directories")
    machines = min(max(memory_bytes // CONTAINER_BYTES, 1), MOST_MACHINES)
    has = f"this computer has {memory_bytes // MEBIBYTE} MiB of memory"
    return Capacity(machines, f"{has}, and a container takes {CONTAINER_BYTES // MEBIBYTE}")


def capacity_here(kind: str) -> Capacity:
    """Return what this computer holds."""
    return capacity_of(kind, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
