"""
The few calls to an API server that this edge makes, and its errors as ours.

lightkube reads kubeconfigs and shows tokens; what crosses is bytes (wire/connections.py), read by
msgspec. Calls are synchronous and safe from several threads: so are the seams of the controller.

==========================  ==================================================
the server says             the caller gets
==========================  ==================================================
404                         None, or False from delete
409                         ConflictError: somebody else wrote first
403                         ForbiddenError, an InputError: somebody else may
400, 422 and the like       InputError: asking again changes nothing
410 in a watch              ExpiredError: list again
429                         after a few tries BusyError, an UnavailableError
5xx, no answer              UnavailableError
==========================  ==================================================
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import yaml
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError

from fairlead.errors import ConflictError, InputError, UnavailableError
from fairlead.kube.answer import (
    CONFLICT,
    NOT_FOUND,
    SERVER_ERROR,
    TOO_MANY,
    Answer,
    Change,
    Object,
    change_of,
    decoded,
    drop_managers,
    message_of,
    object_in,
    page_of,
    refuse_failed,
    retry_after,
)
from fairlead.kube.resource import PODS, Resource
from fairlead.kube.wire.connections import FAILURES, Connections

# Who writes, in managedFields: one name for all that the operator owns.
FIELD_MANAGER = "fairlead"

# Seconds. A server that is there answers in milliseconds; one that restarts is asked again later.
ANSWER_S = 10.0

# Objects in one answer of a list: about 2 MB of pools.
PAGE = 500

# 429 comes for some seconds after a CRD is made, and from a server under load.
MOST_TRIES = 4
LONGEST_WAIT_S = 5.0

# A watch ends by itself after this long, so that a connection which died in silence is noticed.
WATCH_S = 290

# What lightkube raises for a file that is missing, empty, no YAML, or no kubeconfig.
UNUSABLE = (
    *(ConfigError, OSError, KeyError, TypeError, ValueError, AttributeError),
    *(yaml.YAMLError, msgspec.MsgspecError),
)

# A version that no object has: applied with it, an object is made, or refused if there is one.
NO_VERSION = "1"


@dataclass(frozen=True, slots=True)
class How:
    """Who writes, in managedFields; is_trial: the server says what it would say, and no more."""

    manager: str = FIELD_MANAGER
    is_trial: bool = False

    def query(self) -> dict[str, str]:
        """Return it as a request has it."""
        return {"fieldManager": self.manager, **({"dryRun": "All"} if self.is_trial else {})}


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream as they come; the last one also if the stream broke off in it."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)
    if rest:
        yield rest


class Watch:
    """
    Changes, until the server ends them, which it may at any time.

    Iterating raises ExpiredError if the version is too old, UnavailableError if the connection
    breaks. `cut` ends it from another thread. has_begun: whether the server took it on.
    """

    def __init__(self, connections: Connections, url: str) -> None:
        self._connections = connections
        self._url = url
        self._socket: socket.socket | None = None
        self._is_cut = False
        self.has_begun = False

    def __iter__(self) -> Iterator[Change]:
        headers = {"Accept": "application/json"}
        try:
            with self._connections.stream(self._url, headers, WATCH_S + ANSWER_S) as answer:
                refuse_failed(answer.head, self._url)
                self.has_begun = True
                self._socket = answer.socket
                if self._is_cut:
                    return
                for line in lines_of(answer.pieces()):
                    yield change_of(line)
        except FAILURES as error:
            where = self._url.partition("?")[0]
            raise UnavailableError(f"the watch of {where} broke: {error}") from error

    def cut(self) -> None:
        """
        Let whoever iterates see the end.

        The socket is not closed here: its number would be somebody else's while it is still read.
        """
        self._is_cut = True
        if self._socket is not None:
            # Beneath TLS, which would forget its state in the middle of a read.
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class KubeClient:
    """One API server, as one user. namespace: the one that the kubeconfig's context names."""

    def __init__(self, config: KubeConfig, context: str | None = None) -> None:
        try:
            chosen = config.get(context)
        except (ConfigError, KeyError) as error:
            raise InputError(f"the kubeconfig cannot be used: {error}") from error
        if chosen is None or chosen.user is None:
            raise InputError("the kubeconfig's context names no user")
        self.namespace = chosen.namespace
        self.server = chosen.cluster.server
        self._connections = Connections(chosen)

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def read(self, path: str) -> Object | None:
        """Return what the server says of itself at this path, or None."""
        return object_in(self._call("GET", path))

    def read_soon(self, path: str, seconds: float) -> Object:
        """Return what the server says of itself, asked once, if it says it within this time."""
        answer = self._send("GET", path, None, {"Accept": "application/json"}, seconds)
        refuse_failed(answer, path)
        return decoded(answer.content)

    def find(self, resource: Resource, name: str, namespace: str = "") -> Object | None:
        """Return an object, or None."""
        return object_in(self._call("GET", resource.path(namespace, name)))

    def list_all(
        self, resource: Resource, namespace: str = "", labels: str = "", fields: str = ""
    ) -> tuple[list[Object], str]:
        """Return all objects, in pages, and the version that a watch goes on from."""
        found: list[Object] = []
        version = ""
        for page, version in self.list_pages(resource, namespace, labels, fields):  # noqa: B007 - the last
            found.extend(page)
        return found, version

    def list_pages(
        self, resource: Resource, namespace: str = "", labels: str = "", fields: str = ""
    ) -> Iterator[tuple[Iterator[Object], str]]:
        """
        Return all objects a page at a time, each with the version of the whole list.

        One is read after the other: what a page takes as Python's own values is hard to give back.
        """
        selectors = {"labelSelector": labels, "fieldSelector": fields}
        page = {"limit": str(PAGE), **{name: text for name, text in selectors.items() if text}}
        following = ""
        while True:
            asked = {**page, **({"continue": following} if following else {})}
            answer = self._call("GET", resource.path(namespace), query=asked)
            if answer is None:
                raise UnavailableError(f"the server has no {resource.plural}.{resource.group}")
            found = page_of(answer)
            version: str = found.metadata.get("resourceVersion", "")
            yield (drop_managers(decoded(one)) for one in found.items or ()), version
            following = found.metadata.get("continue", "")
            if not following:
                return

    def watch(
        self, resource: Resource, version: str, namespace: str = "", labels: str = ""
    ) -> Watch:
        """Return the changes after this version."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_S),
            **({"labelSelector": labels} if labels else {}),
        }
        return Watch(self._connections, _with_query(resource.path(namespace), query))

    def create(self, resource: Resource, made: Object, how: How = How()) -> Object:  # noqa: B008 - it never changes
        """Make an object. Raises ConflictError if one of its name is there."""
        namespace = made["metadata"].get("namespace", "")
        return self._write("POST", resource.path(namespace), made, how.query())

    def replace(
        self,
        resource: Resource,
        changed: Object,
        subresource: str = "",
        how: How = How(),  # noqa: B008 - it never changes
    ) -> Object:
        """Write an object whole. Raises ConflictError unless it has the version that is there."""
        where = _path_of(resource, changed, subresource)
        return self._write("PUT", where, changed, how.query())

    def apply(
        self,
        resource: Resource,
        wanted: Object,
        subresource: str = "",
        manager: str = FIELD_MANAGER,
    ) -> Object:
        """
        Make the fields that stand here so, and those so that were ours and no longer stand here.

        With metadata.resourceVersion and uid it is refused (ConflictError) unless both are
        those of the object that is there: whoever acts on what it saw earlier must give them.
        """
        where = _path_of(resource, wanted, subresource)
        query = {"fieldManager": manager, "force": "true"}
        try:
            return self._write("PATCH", where, wanted, query, "application/apply-patch+yaml")
        except InputError as error:
            # What the server says if the object was deleted and made again.
            if "uid" in wanted["metadata"] and "metadata.uid" in str(error):
                raise ConflictError(str(error)) from error
            raise

    def delete(
        self, resource: Resource, name: str, namespace: str = "", conditions: Object | None = None
    ) -> bool:
        """
        Delete an object; return whether it was there.

        conditions: uid and resourceVersion that it must have, else ConflictError.
        """
        body: Object = {"propagationPolicy": "Background"}
        if conditions:
            body["preconditions"] = conditions
        where = resource.path(namespace, name)
        return self._call("DELETE", where, body=body) is not None

    def evict(self, name: str, namespace: str, uid: str) -> str:
        """
        Ask this very pod to leave; return '', or what does not let it, like a disruption budget.

        Asked once: a budget has room again when it has, and whoever drains asks again.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        url = PODS.path(namespace, name, "eviction")
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        answer = self._send("POST", url, msgspec.json.encode(body), headers)
        if answer.status_code in (NOT_FOUND, CONFLICT):
            return ""  # it is gone, or another one of its name is there
        if answer.status_code in (TOO_MANY, SERVER_ERROR):
            return message_of(answer)
        refuse_failed(answer, url)
        return ""

    def _write(
        self,
        method: str,
        path: str,
        body: Object,
        query: Mapping[str, str],
        kind: str = "application/json",
    ) -> Object:
        written = object_in(self._call(method, path, query=query, body=body, kind=kind))
        if written is None:
            raise ConflictError(f"{path} is not there any more")
        return written

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        kind: str = "application/json",
    ) -> bytes | None:
        url = _with_query(path, query or {})
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Accept": "application/json", "Content-Type": kind}
        for tries in range(1, MOST_TRIES + 1):
            answer = self._send(method, url, content, headers)
            if answer.status_code != TOO_MANY or tries == MOST_TRIES:
                break
            time.sleep(min(retry_after(answer), LONGEST_WAIT_S))
        if answer.status_code == NOT_FOUND:
            return None
        refuse_failed(answer, url)
        return answer.content

    def _send(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        seconds: float = ANSWER_S,
    ) -> Answer:
        try:
            return self._connections.request(method, url, content, headers, seconds)
        except FAILURES as error:
            problem = str(error) or type(error).__name__
            raise UnavailableError(f"no answer from {self.server}: {problem}") from error


def connect(kubeconfig: Path | None = None, context: str | None = None) -> KubeClient:
    """
    Return a client by this file, or else by the pod's account, KUBECONFIG or ~/.kube/config.

    Raises InputError if none of them can be used.
    """
    try:
        found = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
    except UNUSABLE as error:
        says = " ".join(str(error).split())
        raise InputError(
            f"there is no usable kubeconfig: {says}",
            hint="name one with --kubeconfig, or set KUBECONFIG",
        ) from error
    return KubeClient(found, context)


def _path_of(resource: Resource, object_: Object, subresource: str) -> str:
    metadata = object_["metadata"]
    return resource.path(metadata.get("namespace", ""), metadata["name"], subresource)


def _with_query(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
