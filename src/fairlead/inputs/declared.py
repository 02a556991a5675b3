"""
Pools as they are declared, parsed once for as long as their documents are in use.

One apply looks at a document many times (judged, planned, compared, planned again), and so does
every pass. Documents are remembered by how they are spelled, within a bound on their text.
"""

from collections import OrderedDict

from fairlead.inputs.leaf import Json
from fairlead.inputs.parse import NodePool, parse_node_pool

# Characters of documents that are remembered: some 5,000 pools of a few files, or two of the
# largest that a command sends.
MOST_TEXT = 8 << 20


class _Remembered:
    """Pools by the spelling of their documents, those used last; the text of all is bounded."""

    def __init__(self) -> None:
        self._pools: OrderedDict[str, NodePool] = OrderedDict()
        self._size = 0

    def find(self, spelled: str) -> NodePool | None:
        found = self._pools.get(spelled)
        if found is not None:
            self._pools.move_to_end(spelled)
        return found

    def keep(self, spelled: str, pool: NodePool) -> None:
        self._pools[spelled] = pool
        self._size += len(spelled)
        while self._size > MOST_TEXT and len(self._pools) > 1:
            oldest, _ = self._pools.popitem(last=False)
            self._size -= len(oldest)


_REMEMBERED = _Remembered()


def declared_pool(document: Json) -> NodePool:
    """Return the pool of a document. Raises InputError if it is none, as parse_node_pool does."""
    # Not by ==, for which 1, 1.0 and True are one value and mean three.
    spelled = repr(document)
    found = _REMEMBERED.find(spelled)
    if found is None:
        found = parse_node_pool(document)
        _REMEMBERED.keep(spelled, found)
    return found
