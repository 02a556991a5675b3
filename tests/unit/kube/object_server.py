"""A small server that keeps objects, and refuses what an API server refuses of their versions."""

import json
import re
import threading
from typing import Any
from urllib.parse import parse_qs

from fairlead.kube.resource import Resource
from unit.kube.small_server import Reply, SmallServer

MADE_AT = "2026-11-18T01:00:00Z"
NAMESPACE = "a"


class ObjectServer(SmallServer):
    """
    Keeps objects by their paths. writes: every request that may change one, and was not refused.

    What is applied takes the place of what was there, part by part, as if nobody else wrote.
    """

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, str]] = []
        self._version = 100
        self._lock = threading.Lock()

    def put(self, resource: Resource, name: str, **parts: Any) -> dict[str, Any]:
        """Have an object, whoever made it."""
        metadata = parts.get("metadata", {})
        namespace = metadata.get("namespace", NAMESPACE) if resource.is_namespaced else ""
        made = {"apiVersion": resource.api_version, "kind": resource.kind, **parts}
        place = {"namespace": namespace} if namespace else {}
        made["metadata"] = {"name": name, **place, **metadata}
        with self._lock:
            return self._keep(resource.path(namespace, name), made)

    def get(self, resource: Resource, name: str) -> dict[str, Any] | None:
        """Return an object as it is."""
        namespace = NAMESPACE if resource.is_namespaced else ""
        return self.objects.get(resource.path(namespace, name))

    def remove(self, resource: Resource, name: str) -> None:
        """Delete an object by hand."""
        del self.objects[resource.path(NAMESPACE, name)]

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        refused = self.reply(method, path, headers)
        if refused[0] != 200:
            return refused
        where, _, query = path.partition("?")
        sent = json.loads(body) if body else {}
        with self._lock:
            status, document = self._answered(method, where, parse_qs(query), sent)
            if method != "GET" and status == 200:
                self.writes.append((method, where))
        return status, document, False

    def _answered(
        self, method: str, where: str, query: dict[str, list[str]], sent: dict[str, Any]
    ) -> tuple[int, Any]:
        if method == "GET":
            found = self.objects.get(where)
            if found is None and not _is_one(where):
                found = self._listed(where, query)
            return (404, {}) if found is None else (200, found)
        if method == "POST":
            made = f"{where}/{sent['metadata']['name']}"
            return (409, {}) if made in self.objects else (200, self._keep(made, sent))
        whole = where.removesuffix("/status")
        known = self.objects.get(whole)
        if known is None:
            return (200, self._keep(whole, sent)) if method == "PATCH" else (404, {})
        expected = sent.get("preconditions") if method == "DELETE" else sent["metadata"]
        if _differs(known, expected or {}):
            return 409, {"message": "the object has been modified"}
        if method == "DELETE":
            return 200, self.objects.pop(whole)
        changed = {**known, "status": sent.get("status", {})}
        if where == whole:
            metadata = known["metadata"] | sent["metadata"]
            kept = {"status": known["status"]} if "status" in known else {}
            changed = {**known, **sent, "metadata": metadata, **kept}
        return 200, self._keep(whole, changed)

    def _keep(self, path: str, made: dict[str, Any]) -> dict[str, Any]:
        known = self.objects.get(path, {})
        metadata = {
            "creationTimestamp": MADE_AT,
            "generation": 1,
            **made["metadata"],
            "uid": known.get("metadata", {}).get("uid") or made["metadata"].get("uid", ""),
        }
        kept = {**made, "metadata": metadata}
        if known == kept:
            return known
        self._version += 1
        metadata["resourceVersion"] = str(self._version)
        metadata["uid"] = metadata["uid"] or f"uid-{self._version}"
        self.objects[path] = kept
        return kept

    def _listed(self, where: str, query: dict[str, list[str]]) -> dict[str, Any]:
        label, _, value = query.get("labelSelector", [""])[0].partition("=")
        found = []
        for path, one in sorted(self.objects.items()):
            place = path.rpartition("/")[0]
            labels = one.get("metadata", {}).get("labels") or {}
            is_asked_for = not label or (label in labels and value in ("", labels[label]))
            if is_asked_for and where in (place, re.sub("/namespaces/[^/]+", "", place)):
                found.append(one)
        return {"metadata": {"resourceVersion": str(self._version)}, "items": found}


def _is_one(where: str) -> bool:
    """Say whether a path is that of an object: its last part is no plural."""
    inside = re.sub("^/(api/v1|apis/[^/]+/[^/]+)(/namespaces/[^/]+)?", "", where)
    return inside.count("/") > 1


def _differs(known: dict[str, Any], expected: dict[str, Any]) -> bool:
    return any(
        name in expected and expected[name] != known["metadata"][name]
        for name in ("uid", "resourceVersion")
    )
