"""
Pools as they are declared, parsed once for as long as their documents are in use.

One apply looks at a document many times (judged, planned, compared, planned again), and so does
every pass. Documents are remembered by how they are spelled, within a bound on their text.
"""

from fairlead.inputs.leaf import Json
from fairlead.inputs.parse import NodePool, parse_node_pool
from fairlead.inputs.remembered import Remembered

# Characters of documents that are remembered: some 5,000 pools of a few files, or two of the
# largest that a command sends.
MOST_TEXT = 8 << 20


_REMEMBERED: Remembered[NodePool] = Remembered(MOST_TEXT)


def declared_pool(document: Json) -> NodePool:
    """Return the pool of a document. Raises InputError if it is none, as parse_node_pool does."""
    # Not by ==, for which 1, 1.0 and True are one value and mean three.
    spelled = repr(document)
    found = _REMEMBERED.find(spelled)
    if found is None:
        found = parse_node_pool(document)
        _REMEMBERED.keep(spelled, found)
    return found
