"""
Revisions as objects: written once, before anything names them, and read back exactly.

Inputs and what they render to are text, packed: a pool with a megabyte of files still fits into
what etcd takes. What does not fit is refused with its size, and is that pool's problem alone.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib

from fairlead.errors import ConflictError, InputError
from fairlead.kept_text import parse_value, render_value
from fairlead.kube.answer import Object
from fairlead.kube.copies import Copies
from fairlead.kube.names import owned, revision_name, split
from fairlead.kube.resource import NODE_POOLS, NODE_REVISIONS
from fairlead.revision.revision import Revision

# etcd takes 1.5 MiB of a request; metadata and the copy that server-side apply keeps need some.
LARGEST_PACKED = 1 << 20

# Unpacked: the documents of a pool and the node config have 4 MiB each at most.
LARGEST_TEXT = 16 << 20

# Revisions that are kept ready to use: those of pools that change. One more takes 0.2 ms to read,
# and a dozen kilobytes to keep.
MOST_PARSED = 1000


class Revisions:
    """The revisions of all pools."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
        self._parsed: dict[str, Revision] = {}

    def find(self, pool: str, revision: str) -> Revision | None:
        """Return a revision, or None. Raises InputError if it is damaged."""
        namespace, _ = split(pool)
        found = self._copies.find(NODE_REVISIONS, namespace, revision_name(pool, revision))
        if found is None:
            return None
        uid = found["metadata"]["uid"]
        parsed = self._parsed.get(uid)
        if parsed is None:
            parsed = _revision_of(found)
            if len(self._parsed) >= MOST_PARSED:
                self._parsed.clear()
            self._parsed[uid] = parsed
        return parsed

    def is_there(self, pool: str, revision: str) -> bool:
        """Say whether the server has a revision, asked by a right that an operator has anyway."""
        fields = f"metadata.name={revision_name(pool, revision)}"
        found, _ = self._copies.client.list_all(NODE_REVISIONS, split(pool)[0], fields=fields)
        return bool(found)

    def keep(self, pool: str, revision: Revision) -> None:
        """Make the object, unless it is there. Raises InputError if it is too large for etcd."""
        namespace, name = split(pool)
        if self._copies.find(NODE_REVISIONS, namespace, revision_name(pool, revision.id)):
            return
        owner = self._copies.find(NODE_POOLS, namespace, name)
        if owner is None:
            raise ConflictError(f"{pool} is not there any more")
        made = owned(NODE_REVISIONS, owner, revision_name(pool, revision.id))
        made["spec"] = {
            "pool": name,
            "id": revision.id,
            "intentHash": revision.intent_hash,
            "platformHash": revision.platform_hash,
            "version": revision.version,
            "revision": _packed(revision),
        }
        self._copies.create(NODE_REVISIONS, made)

    def let_go(self, pool: str, needed: set[str]) -> None:
        """Delete the revisions of a pool that nothing names."""
        for found in self._copies.list_of(NODE_REVISIONS, pool):
            if found["spec"]["id"] not in needed:
                self._copies.delete_as_seen(NODE_REVISIONS, found)
                self._parsed.pop(found["metadata"]["uid"], None)


def _packed(revision: Revision) -> str:
    packed = base64.b64encode(gzip.compress(render_value(revision).encode(), mtime=0)).decode()
    if len(packed) > LARGEST_PACKED:
        raise InputError(
            f"the inputs of one generation of machines have {len(packed)} bytes when packed, "
            f"expected at most {LARGEST_PACKED}",
            field="spec.config",
            hint="put large files into the image, or where machines can fetch them",
        )
    return packed


def _revision_of(found: Object) -> Revision:
    name = found["metadata"]["name"]
    try:
        return parse_value(Revision, _unpacked(found["spec"]["revision"]))
    except (InputError, binascii.Error, zlib.error, UnicodeDecodeError, KeyError) as error:
        raise InputError(
            f"NodeRevision {name} cannot be read: {error}", hint="restore it from a backup"
        ) from error


def _unpacked(packed: str) -> str:
    unpacking = zlib.decompressobj(wbits=31)
    text = unpacking.decompress(base64.b64decode(packed, validate=True), LARGEST_TEXT)
    if unpacking.unconsumed_tail:
        raise InputError(f"it has more than {LARGEST_TEXT} bytes")
    return text.decode()
