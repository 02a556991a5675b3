"""
What every machine that boots gets as it is now, also while its pool holds other platform changes.

An old cloud configuration may name a network or an endpoint that is gone: a machine could not even
join with it. It stays a platform change like any other: it is shown as held, and nothing rolls.
"""

from dataclasses import replace
from typing import Any

from fairlead.contract.json_text import encode_json, parse_json, plain
from fairlead.inputs.leaf import Leaves
from fairlead.revision.hashing import Scheme, hashes_of, id_of
from fairlead.revision.node_config_text import PLACES
from fairlead.revision.revision import Revision

CLOUD_CONFIG = "platform.cloudConfig"


def with_newest(held: Revision, wanted: Leaves) -> Revision:
    """Return the held revision with what new machines get in any case; itself, if they have it."""
    now = wanted.get(CLOUD_CONFIG)
    if held.leaves.get(CLOUD_CONFIG) == now:
        return held
    leaves = {path: value for path, value in held.leaves.items() if path != CLOUD_CONFIG}
    if now is not None:
        leaves[CLOUD_CONFIG] = now
    scheme = Scheme(held.scheme)
    hashes = hashes_of(leaves, held.content, scheme)
    return replace(
        held,
        id=id_of(hashes, scheme, held.force),
        leaves=dict(sorted(leaves.items())),
        platform_hash=hashes.platform,
        node_config=_with_cloud_config(held.node_config, now),
    )


def _with_cloud_config(text: str, value: object) -> str:
    # The rest stays as the code of that day rendered it, which its siblings have.
    document: dict[str, Any] = plain(parse_json(text.encode()))
    parent, name = PLACES[CLOUD_CONFIG]
    document.setdefault(parent, {}).pop(name, None)
    if value is not None:
        document[parent][name] = value
    return encode_json(document, indent=2, ascii_only=False) + "\n"
