"""
The names that completion offers, one set per kind. Quick and silent: a TAB is no place for errors.

No control plane, one that does not answer in time, or one that answers otherwise than expected:
there are no names then, and whoever types goes on. Which one is asked is what the line says.
"""

from __future__ import annotations

import re
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fairlead.answers.words import Fault
from fairlead.cli.cluster import ANYWHERE, KUBE, scope_of
from fairlead.cli.request import plane_of
from fairlead.errors import FairleadError

POOLS = "pools"
MACHINES = "machines"
LEAVES = "leaves"
FAULTS = "faults"
SUBJECTS = f"{POOLS}+{MACHINES}"

# For one question; two are asked at most, and people wait for a TAB for a second.
TIMEOUT_S = 0.4
# For a cluster, over a network.
CLUSTER_TIMEOUT_S = 2.0

# A shell puts what it is offered on the line as it is: only words that mean nothing else there.
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=/-]*", re.ASCII)


def known_names(kinds: str, line: list[str]) -> list[str]:
    """Return the names of these kinds, `pools+machines`; the line says of which control plane."""
    flags = flags_in(line)
    found: list[str] = []
    for kind in kinds.split("+"):
        try:
            found += _names_of(kind, flags)
        except (FairleadError, OSError):
            continue
    return plain_words(found)


def plain_words(names: list[str]) -> list[str]:
    """Return the names that every shell takes as they are."""
    return [name for name in names if WORD.fullmatch(name)]


def _names_of(kind: str, flags: Namespace) -> list[str]:
    if kind == LEAVES:
        return list(_leaves())
    if kind == FAULTS:
        return [fault.value for fault in Fault]
    if flags.kube:
        return _in_time(kind, flags)
    client = plane_of(Namespace(state=flags.state), TIMEOUT_S)
    if kind == POOLS:
        return [pool.name for pool in client.pools().pools]
    return [machine.name for machine in client.machines().machines] if kind == MACHINES else []


def _in_time(kind: str, flags: Namespace) -> list[str]:
    """Return names of a cluster; none if it takes longer than somebody waits for a TAB."""
    found: list[str] = []

    def ask() -> None:
        from fairlead.kube.front.names import machine_names, pool_names

        with suppress(FairleadError, OSError):
            asked = {POOLS: pool_names, MACHINES: machine_names}[kind]
            found.extend(asked(*scope_of(flags)))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(CLUSTER_TIMEOUT_S)
    return list(found)


def _leaves() -> Iterator[str]:
    """Give what `platform set` takes; behind a family stands a name of one's own."""
    from fairlead.inputs.parse import platform_rows
    from fairlead.inputs.platform_inputs import PLATFORM

    for row in platform_rows():
        path = row.path.removeprefix(PLATFORM)
        yield path.removesuffix("*") if path.endswith(".*") else f"{path}="


def flags_in(line: list[str]) -> Namespace:
    """Return the flags on a line that is not complete yet that say which control plane is meant."""
    found: dict[str, str] = dict.fromkeys((*ANYWHERE, "--state"), "")
    for at, word in enumerate(line):
        flag, equals, value = word.partition("=")
        if flag in found:
            found[flag] = value if equals else "".join(line[at + 1 : at + 2])
    kubeconfig, state = found["--kubeconfig"], found["--state"]
    return Namespace(
        kube=KUBE in line,
        kubeconfig=Path(kubeconfig).expanduser() if kubeconfig else None,
        context=found["--context"] or None,
        namespace=found["--namespace"] or found["-n"] or None,
        all_namespaces="-A" in line or "--all-namespaces" in line,
        operator_namespace=found["--operator-namespace"] or None,
        state=Path(state).expanduser() if state else None,
    )
