"""The control plane that the flags name, and its answers on stdout as JSON."""

from __future__ import annotations

import difflib
import sys
from argparse import Namespace

from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answers.document import Document
    from fairlead.answers.machine import MachineDetail
    from fairlead.answers.pool import PoolDetail
    from fairlead.embedded.serve.client import Client

CLOSE_NAMES = 3


def plane_of(arguments: Namespace, timeout_s: float | None = None) -> Client:
    """Return the way to the control plane that the flags name."""
    # Here, because http.client and msgspec cost more than all the rest of a --help.
    from fairlead.embedded.serve.client import Client
    from fairlead.embedded.state_directory import find_state_directory

    limit = () if timeout_s is None else (timeout_s,)
    return Client(find_state_directory(arguments.state), *limit)


def find_subject(client: Client, name: str) -> PoolDetail | MachineDetail:
    """Return the pool or the machine of this name. Raises InputError with close names."""
    pools = [pool.name for pool in client.pools().pools]
    if name in pools:
        return client.pool(name)
    machines = [machine.name for machine in client.machines(with_gone=True).machines]
    if name in machines:
        return client.machine(name)
    close = difflib.get_close_matches(name, [*pools, *machines], CLOSE_NAMES) or pools
    hint = f"there is {', '.join(close)}" if close else "there is no pool yet: fairlead apply -f"
    raise InputError("no pool and no machine has this name", field=name, hint=hint)


def write_answer(answer: Document) -> None:
    """Put an answer on stdout as JSON, one item per line."""
    from fairlead.answers.text import plain

    write_json(plain(answer))


def write_json(fields: object) -> None:
    """Put JSON on stdout, one item per line."""
    sys.stdout.write(encode_json(fields, indent=2) + "\n")
