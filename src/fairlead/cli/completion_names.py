"""
The names that completion offers, one set per kind. Quick and silent: a TAB is no place for errors.

No control plane, one that does not answer in time, or one that answers otherwise than expected:
there are no names then, and whoever types goes on.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from fairlead.answers.words import Fault
from fairlead.cli.request import plane_of
from fairlead.errors import FairleadError

POOLS = "pools"
MACHINES = "machines"
LEAVES = "leaves"
FAULTS = "faults"
SUBJECTS = f"{POOLS}+{MACHINES}"

# For one question; two are asked at most, and people wait for a TAB for a second.
TIMEOUT_S = 0.4

# A shell puts what it is offered on the line as it is: only words that mean nothing else there.
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=-]*", re.ASCII)


def known_names(kinds: str, line: list[str]) -> list[str]:
    """Return the names of these kinds, `pools+machines`; the line may say which --state."""
    state = _state_in(line)
    found: list[str] = []
    for kind in kinds.split("+"):
        try:
            found += _names_of(kind, state)
        except (FairleadError, OSError):
            continue
    return plain_words(found)


def plain_words(names: list[str]) -> list[str]:
    """Return the names that every shell takes as they are."""
    return [name for name in names if WORD.fullmatch(name)]


def _names_of(kind: str, state: Path | None) -> list[str]:
    if kind == LEAVES:
        return list(_leaves())
    if kind == FAULTS:
        return [fault.value for fault in Fault]
    client = plane_of(Namespace(state=state), TIMEOUT_S)
    if kind == POOLS:
        return [pool.name for pool in client.pools().pools]
    return [machine.name for machine in client.machines().machines] if kind == MACHINES else []


def _leaves() -> Iterator[str]:
    """Give what `platform set` takes; behind a family stands a name of one's own."""
    from fairlead.inputs.parse import platform_rows
    from fairlead.inputs.platform_inputs import PLATFORM

    for row in platform_rows():
        path = row.path.removeprefix(PLATFORM)
        yield path.removesuffix("*") if path.endswith(".*") else f"{path}="


def _state_in(line: list[str]) -> Path | None:
    for at, word in enumerate(line):
        flag, equals, value = word.partition("=")
        if flag == "--state":
            given = value if equals else "".join(line[at + 1 : at + 2])
            return Path(given).expanduser() if given else None
    return None
