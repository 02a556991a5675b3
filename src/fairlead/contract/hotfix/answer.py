"""
What a hotfix service answers a booting node: the pointer, and the signed metadata that proves it.

The pointer may name other versions for other machines, since fixes spread in waves. Which packages
it may name is in the metadata, which the service cannot sign. A pointer alone is what the published
AKS agent expects: names that it does not know are passed over by it.
"""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, encode_json, parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Beside the node config of the same service: contract/boot_document.py.
HOTFIX_PATH = "/v1/hotfix"

# Where a service that runs alone takes boot reports.
REPORT_PATH = "/v1/hotfix-report"

# Packages and repositories lie below this, readable by everybody: their signatures prove them.
DEPOT_PATH = "/depot"

# What the agents call themselves.
OUR_COMPONENT = "fairlead-node"
AKS_COMPONENT = "aksNodeController"

# The names of texts of metadata: exact bytes, as they were signed.
SINGLE_TEXTS = ("timestamp", "snapshot", "targets")


def render_answer(hotfixes: dict[str, str | None], update: dict[str, Any] | None) -> bytes:
    """Return an answer. `update` holds texts as `update_texts` returns them; None: none."""
    document: dict[str, Any] = {"hotfixes": hotfixes}
    if update is not None:
        document["update"] = update
    return encode_json(document, ascii_only=False).encode() + b"\n"


def update_texts(body: bytes) -> dict[str, Any] | None:
    """
    Return the texts of metadata of an answer: `roots` is a list, the others are one text each.

    None if the answer has none. Raises InputError if they are not what they should be.
    """
    document = parse_json(body)
    update = plain(document).get("update") if isinstance(document, Pairs) else None
    if update is None:
        return None
    roots = update.get("roots") if isinstance(update, dict) else None
    if not isinstance(roots, list) or not all(isinstance(root, str) for root in roots):
        raise InputError("found no list of texts", field="update.roots")
    for name in SINGLE_TEXTS:
        if not isinstance(update.get(name), str):
            raise InputError("found no text", field=f"update.{name}")
    return {name: update[name] for name in ("roots", *SINGLE_TEXTS)}
