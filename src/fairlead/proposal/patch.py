"""A few fields of a document changed, as a merge patch says."""

from collections.abc import Mapping

from fairlead.inputs.leaf import Json


def merged(document: Json, patch: Json) -> Json:
    """Return a document with a JSON merge patch (RFC 7396): None removes, mappings are merged."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
