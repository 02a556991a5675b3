"""
Kubernetes' Events about pools: a copy of the journal, for `kubectl describe`.

Nothing rests on them: they are written after the status that they are about, by a thread of their
own, and expire. Their names follow from the pool and the key of the event, so that each fact is
there once, whoever tells it again. What cannot be written is dropped and counted.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import UTC
from hashlib import sha256

from fairlead.answers.event import Event
from fairlead.answers.words import EventKind
from fairlead.errors import ConflictError, FairleadError, UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.resource import EVENTS, MACHINES, NODE_POOLS

REPORTER = "fairlead.dev/operator"

# Bounds of the server: bytes of a note, characters of the reporting instance.
LONGEST_NOTE = 1024
LONGEST_INSTANCE = 128

# Events that wait for a server that does not answer; those beyond are dropped.
MOST_WAITING = 10_000

# Seconds until a server that did not answer is asked again, and what the last ones may take when
# the process ends.
AGAIN_S = 2.0
FAREWELL_S = 2.0

TROUBLE = frozenset(
    {
        EventKind.ROLLOUT_HALTED,
        EventKind.MACHINE_FAILED,
        EventKind.DRAIN_SKIPPED,
        EventKind.REPAIR_STOPPED,
        EventKind.SECRET_RECREATED,
        EventKind.SEEDED_WITHOUT_EVIDENCE,
    }
)


class EventCopies:
    """
    Writes Events, one after the other.

    instance: which operator writes. tell: told when they cannot be written, once in a row.
    """

    def __init__(self, client: KubeClient, instance: str, tell: Callable[[str], None]) -> None:
        self._client = client
        self._instance = instance
        self._tell = tell
        self._waiting: queue.Queue[Object | None] = queue.Queue(MOST_WAITING)
        self._is_stopping = threading.Event()
        self._is_well = True
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)
        self.dropped = 0

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Let those go out that wait, if the server answers, and end."""
        self._is_stopping.set()
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return  # the server does not answer; the thread ends with the process
        if self._thread.is_alive():
            self._thread.join(FAREWELL_S)

    def add(self, pool: Object, event: Event) -> None:
        """Write an event about this NodePool soon. Never waits, never raises."""
        try:
            self._waiting.put_nowait(event_object(pool, event, self._instance))
        except queue.Full:
            self.dropped += 1

    def _run(self) -> None:
        while (made := self._waiting.get()) is not None:
            self._write(made)

    def _write(self, made: Object) -> None:
        while True:
            try:
                self._client.create(EVENTS, made)
            except ConflictError:
                return  # it is there
            except UnavailableError as error:
                self._trouble(error)
                if self._is_stopping.wait(AGAIN_S):
                    self.dropped += 1
                    return
            except FairleadError as error:
                self._trouble(error)
                self.dropped += 1
                return
            else:
                self._is_well = True
                return

    def _trouble(self, error: FairleadError) -> None:
        if self._is_well:
            self._tell(f"Events cannot be written, pools go on: {error}")
        self._is_well = False


def event_object(pool: Object, event: Event, instance: str) -> Object:
    """Return the Event about a NodePool that tells this."""
    metadata = pool["metadata"]
    namespace, uid = metadata["namespace"], metadata["uid"]
    at = event.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    made: Object = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": event_name(metadata["name"], uid, event.key), "namespace": namespace},
        "eventTime": at,
        "reportingController": REPORTER,
        "reportingInstance": instance[:LONGEST_INSTANCE],
        "action": "Pass",
        "reason": event.kind.value,
        "type": "Warning" if event.kind in TROUBLE else "Normal",
        "note": _note(event.says),
        "regarding": {
            "apiVersion": NODE_POOLS.api_version,
            "kind": NODE_POOLS.kind,
            "namespace": namespace,
            "name": metadata["name"],
            "uid": uid,
        },
    }
    if event.machine:
        made["related"] = {
            "apiVersion": MACHINES.api_version,
            "kind": MACHINES.kind,
            "namespace": namespace,
            "name": event.machine,
        }
    return made


def event_name(pool: str, uid: str, key: str) -> str:
    """Return the one name that this fact about this very pool has."""
    return f"{pool}.{sha256(f'{uid} {key}'.encode()).hexdigest()[:16]}"


def _note(says: str) -> str:
    content = says.encode()
    if len(content) <= LONGEST_NOTE:
        return says
    return content[: LONGEST_NOTE - 3].decode(errors="ignore") + "…"
