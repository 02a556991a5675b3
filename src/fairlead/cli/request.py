"""The control plane that the flags name, and its answers on stdout for scripts."""

from __future__ import annotations

import difflib
import sys
from argparse import Namespace

from fairlead.cli.cluster import cluster_named, cluster_of
from fairlead.cli.failure import print_error
from fairlead.cli.output import FORM, NAME, STATE_PATH, YAML
from fairlead.contract.json_text import encode_json
from fairlead.contract.visible_text import visible
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answering.questions import Questions
    from fairlead.answers.document import Document
    from fairlead.answers.machine import MachineDetail
    from fairlead.answers.pool import PoolDetail
    from fairlead.embedded.serve.client import Client

CLOSE_NAMES = 3


def plane_of(arguments: Namespace, timeout_s: float | None = None) -> Questions:
    """Return the way to the control plane that the flags name: of this computer, or a cluster."""
    if cluster_named(arguments):
        return cluster_of(arguments)
    return plane_here(arguments, timeout_s)


def plane_here(arguments: Namespace, timeout_s: float | None = None) -> Client:
    """Return the way to the control plane of this computer that the flags name."""
    # Here, because http.client and msgspec cost more than all the rest of a --help.
    from fairlead.embedded.serve.client import TIMEOUT_S, Client
    from fairlead.embedded.state_directory import find_state_directory

    directory = find_state_directory(arguments.state)
    STATE_PATH.set(str(directory.path))
    limit_s = TIMEOUT_S if timeout_s is None else timeout_s
    return Client(directory, limit_s, on_wait=print_error)


def find_subject(client: Questions, name: str) -> PoolDetail | MachineDetail:
    """Return the pool or the machine of this name. Raises InputError with close names."""
    pools = [pool.name for pool in client.pools().pools]
    if name in pools:
        return client.pool(name)
    machines = [machine.name for machine in client.machines(with_gone=True).machines]
    if name in machines:
        return client.machine(name)
    _refuse_gone(client, name)
    close = difflib.get_close_matches(name, [*pools, *machines], CLOSE_NAMES) or pools
    hint = f"there is {', '.join(close)}" if close else "there is no pool yet: fairlead apply -f"
    raise InputError("no pool and no machine has this name", field=name, hint=hint)


def _refuse_gone(client: Questions, name: str) -> None:
    """Raise InputError for a machine that is known by its events alone, as on a cluster."""
    for event in client.events(machine=name).events:
        raise InputError(
            "this machine is gone, and the report of its boot with it",
            field=name,
            hint=f"fairlead events {event.pool} has what happened to it",
        )


def write_answer(answer: Document) -> None:
    """Put an answer on stdout in the form that was asked for."""
    from fairlead.answers.text import plain

    write_json(plain(answer))


def write_json(fields: object) -> None:
    """Put values on stdout: as JSON, one item per line, unless another form was asked for."""
    if FORM.get() == YAML:
        from fairlead.cli.files.yaml_text import yaml_of

        sys.stdout.write(yaml_of(fields))
    elif FORM.get() == NAME:
        sys.stdout.write("".join(f"{visible(name)}\n" for name in names_in(fields)))
    else:
        sys.stdout.write(encode_json(fields, indent=2) + "\n")


# What an answer lists, and what its items are called by.
LISTED = {
    "pools": "name",
    "machines": "name",
    "leaves": "leaf",
    "events": "key",
    "plans": "pool",
    "differences": "of",
    "documents": "number",
    "fixes": "name",
    "bases": "name",
}


def names_in(fields: object) -> list[str]:
    """Return what an answer is about: what it lists, else what it is itself. Raises InputError."""
    if isinstance(fields, dict):
        if isinstance(fields.get("name"), str):
            return [fields["name"]]
        for what, called in LISTED.items():
            if isinstance(fields.get(what), list):
                return [str(_name_of(item, called)) for item in fields[what]]
    raise InputError("this answer has no names", field="-o name", hint="-o json or -o yaml")


def _name_of(item: object, called: str) -> object:
    return item.get(called, "") if isinstance(item, dict) else item
