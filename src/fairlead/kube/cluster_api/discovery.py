"""Which resource a group and kind are, as the server says; asked once for each."""

from __future__ import annotations

from fairlead.kube.client import KubeClient
from fairlead.kube.resource import Resource


class Discovery:
    """What the server serves. A kind that it does not know is asked for again."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._known: dict[tuple[str, str], Resource] = {}

    def find(self, group: str, kind: str) -> Resource | None:
        """Return the resource in the version that the server prefers, or None."""
        if (group, kind) not in self._known:
            found = self._ask(group, kind)
            if found is None:
                return None
            self._known[group, kind] = found
        return self._known[group, kind]

    def _ask(self, group: str, kind: str) -> Resource | None:
        served = self._client.read(f"/apis/{group}")
        version = ((served or {}).get("preferredVersion") or {}).get("version", "")
        listed = self._client.read(f"/apis/{group}/{version}") if version else None
        for one in (listed or {}).get("resources", ()):
            if one.get("kind") == kind and "/" not in one.get("name", "/"):
                namespaced = bool(one.get("namespaced"))
                return Resource(group, version, one["name"], kind, is_namespaced=namespaced)
        return None
