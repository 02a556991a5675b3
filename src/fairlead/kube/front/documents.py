"""
Documents of a file as they stand in a cluster: in one namespace, and without what a server adds.

What commands compare, show and hash is apiVersion, kind, name, namespace and spec. Labels go along
with what is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.kube.front.scope import Scope
from fairlead.kube.pools import PLATFORM_NAME
from fairlead.proposal.judge import PLATFORM_CONFIG


def placed_in(documents: Sequence[Json], scope: Scope, platform_namespace: str) -> list[Json]:
    """
    Return the documents in the namespace of the scope, the platform's in its own.

    Raises InputError for one that names another namespace.
    """
    return [_placed(document, scope, platform_namespace) for document in documents]


def platform_namespace_in(documents: Sequence[Json]) -> str:
    """Return the namespace that a platform's document names, or ''."""
    for document in documents:
        if is_platform(document):
            return str(_metadata_of(document).get("namespace") or "")
    return ""


def is_platform(document: Json) -> bool:
    """Say whether this is the platform's document."""
    return isinstance(document, Mapping) and document.get("kind") == PLATFORM_CONFIG


def labels_of(documents: Sequence[Json]) -> dict[str, dict[str, str]]:
    """Return the labels that pools of a file have, by name."""
    found = {}
    for document in documents:
        metadata = _metadata_of(document)
        labels = metadata.get("labels")
        if isinstance(labels, Mapping) and not is_platform(document):
            found[str(metadata.get("name"))] = {str(key): str(one) for key, one in labels.items()}
    return found


def _placed(document: Json, scope: Scope, platform_namespace: str) -> Json:
    if not isinstance(document, Mapping) or not isinstance(document.get("metadata"), Mapping):
        return document  # the judge says what is wrong with it
    metadata = _metadata_of(document)
    if is_platform(document):
        kept = {"name": PLATFORM_NAME, "namespace": platform_namespace}
        return {**_without_status(document), "metadata": kept}
    named = metadata.get("namespace") or scope.namespace
    if named != scope.namespace:
        raise InputError(
            f"found {named!r}, and this is about {scope.namespace!r}",
            field="metadata.namespace",
            hint=f"give --namespace {named}",
        )
    others = {key: one for key, one in metadata.items() if key not in ("labels", "annotations")}
    return {**_without_status(document), "metadata": {**others, "namespace": named}}


def _without_status(document: Mapping[str, Json]) -> dict[str, Json]:
    return {key: one for key, one in document.items() if key != "status"}


def _metadata_of(document: Json) -> Mapping[str, Json]:
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}
