"""Which keys count in a depot, for people and scripts: public parts only."""

from __future__ import annotations

from typing import TypedDict

from tuf.api.metadata import Metadata, Snapshot, Timestamp

from fairlead.hotfix.catalog_text import moment_text
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.metadata import Signed, root_of, targets_of
from fairlead.hotfix.publish.repository_key import RepositoryKey


class RoleKeyList(TypedDict):
    """One role. `ends`: when what it signed is believed no more; '' if a service renews it."""

    role: str
    keys: list[str]
    threshold: int
    version: int
    ends: str


def list_roles(depot: Depot, signed: Signed) -> list[RoleKeyList]:
    """Return every role with its keys, the most powerful first."""
    root = root_of(signed)
    timestamp = Metadata[Timestamp].from_bytes(signed.timestamp).signed
    snapshot = Metadata[Snapshot].from_bytes(signed.snapshot).signed
    told = {
        "root": ("root", root.version, root.expires),
        "release": ("targets", targets_of(signed).version, targets_of(signed).expires),
        "online": ("timestamp", timestamp.version, min(timestamp.expires, snapshot.expires)),
    }
    roles = [
        RoleKeyList(
            role=name,
            keys=list(root.roles[role].keyids),
            threshold=root.roles[role].threshold,
            version=version,
            ends=moment_text(ends),
        )
        for name, (role, version, ends) in told.items()
    ]
    names = RepositoryKey(depot).fingerprints()
    return [*roles, RoleKeyList(role="repository", keys=names, threshold=1, version=1, ends="")]
