"""One request to the control plane that the flags name, and its answer on stdout as JSON."""

from __future__ import annotations

import difflib
import sys
from argparse import Namespace

from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]

CLOSE_NAMES = 3


def ask(arguments: Namespace, method: str, path: str, body: Fields | None = None) -> Fields:
    """Return the answer of the control plane. Raises what it raised, or UnavailableError."""
    # Here, because http.client costs more than all the rest of a --help.
    from fairlead.embedded.serve.client import Client
    from fairlead.embedded.state_directory import find_state_directory

    answer: Fields = Client(find_state_directory(arguments.state)).request(method, path, body)
    return answer


def path_of(*names: str) -> str:
    """Return the path of something below /v1, whatever its name holds."""
    from urllib.parse import quote

    return "/v1/" + "/".join(quote(name, safe="") for name in names)


def ask_for_subject(arguments: Namespace, name: str) -> tuple[str, Fields]:
    """Return `pool` or `machine`, and what is known of it. Raises InputError with close names."""
    pools = [pool["name"] for pool in ask(arguments, "GET", "/v1/pools")["pools"]]
    if name in pools:
        return "pool", ask(arguments, "GET", path_of("pools", name))
    listed = ask(arguments, "GET", "/v1/machines?gone=1")["machines"]
    machines = [machine["name"] for machine in listed]
    if name in machines:
        return "machine", ask(arguments, "GET", path_of("machines", name))
    close = difflib.get_close_matches(name, [*pools, *machines], CLOSE_NAMES) or pools
    hint = f"there is {', '.join(close)}" if close else "there is no pool yet: fairlead apply -f"
    raise InputError("no pool and no machine has this name", field=name, hint=hint)


def write_json(fields: object) -> None:
    """Put JSON on stdout, one item per line."""
    sys.stdout.write(encode_json(fields, indent=2) + "\n")
