"""
A command's way to the control plane of a state directory: JSON over HTTP on its Unix socket.

Every question has one method, with the type of its answer. What the control plane raised is
raised here again, as the same class. Commands import this, so it imports nothing that takes
long: no server, no drawing.
"""

from __future__ import annotations

import http.client
import json
import os
import select
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from urllib.parse import quote, urlencode

from fairlead.answers.document import Document, Json
from fairlead.answers.event import Events
from fairlead.answers.machine import MachineDetail, MachineLog, Machines
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolDetail, PoolHistory, Pools
from fairlead.answers.reply import (
    Applied,
    Authorities,
    Copied,
    Done,
    Health,
    Identity,
    Leaving,
    PatchedPlatform,
    PatchedPool,
    Platform,
    Proposed,
    Refusal,
    Refused,
)
from fairlead.answers.text import decode, moment_text, plain
from fairlead.answers.words import Fault
from fairlead.embedded.serve.patience import Patience
from fairlead.embedded.serve.unix_socket import connect
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import (
    ConflictError,
    FairleadError,
    InputError,
    InvariantError,
    TrustError,
    UnavailableError,
)
from fairlead.telling.errno_text import os_problem

# The slowest answer, a plan for a fleet, takes seconds.
TIMEOUT_S = 120.0

GOOD = range(200, 300)

_KINDS: dict[str, type[FairleadError]] = {
    kind.__name__: kind for kind in (TrustError, UnavailableError, ConflictError, InvariantError)
}

A = TypeVar("A", bound=Document)
Fields = Mapping[str, Json]


class NotRunningError(UnavailableError):
    """There is no control plane in the directory."""


class Client:
    """
    Asks the control plane of one state directory. Every request is a connection of its own.

    Every method raises what the control plane raised, NotRunningError if none runs, and
    UnavailableError if it is stopped or does not answer in time. on_wait: told, once for each
    request, that it takes longer than a moment.
    """

    def __init__(
        self,
        directory: StateDirectory,
        timeout_s: float = TIMEOUT_S,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self._directory = directory
        self._timeout_s = timeout_s
        self._on_wait = on_wait

    def health(self) -> Health:
        """Return what is running."""
        return self._ask(Health, "GET", "health")

    def certificates(self) -> Authorities:
        """Return which authority machines trust, and which one comes next."""
        return self._ask(Authorities, "GET", "certificates")

    def rotate_authority(self, overlap_s: int) -> Authorities:
        """Announce the next authority, to take over after so many seconds."""
        return self._ask(Authorities, "POST", "certificates", body={"overlap_s": overlap_s})

    def stop(self) -> Done:
        """Ask for an orderly end."""
        return self._ask(Done, "POST", "stop", body={})

    def copy(self) -> Copied:
        """Have a copy of the database made, to be packed as a backup."""
        return self._ask(Copied, "POST", "copy", body={})

    def pools(self) -> Pools:
        """Return every pool in short."""
        return self._ask(Pools, "GET", "pools")

    def pool(self, name: str) -> PoolDetail:
        """Return one pool in full."""
        return self._ask(PoolDetail, "GET", "pools", name)

    def history(self, name: str) -> PoolHistory:
        """Return what a pool's owner declared, the oldest first."""
        return self._ask(PoolHistory, "GET", "pools", name, "history")

    def patch_pool(
        self, name: str, spec: Fields, plan: Plan | None = None, base: str = "", *, dry_run: bool
    ) -> PatchedPool:
        """Change fields of a pool, within the plan and for the document that were shown."""
        shown = plain(plan) if plan else None
        body = {"spec": spec, "plan": shown, "base": base, "dry_run": dry_run}
        return self._ask(PatchedPool, "PATCH", "pools", name, body=body)

    def delete_pool(self, name: str, shown: Leaving | None = None, *, dry_run: bool) -> Leaving:
        """Let a pool go, with all its machines, if they are those that were shown."""
        body = {"shown": plain(shown) if shown else None, "dry_run": dry_run}
        return self._ask(Leaving, "DELETE", "pools", name, body=body)

    def queue_faults(self, pool: str, faults: Sequence[Fault]) -> Done:
        """Say what the next machines of a pool do wrong."""
        body = {"faults": [fault.value for fault in faults]}
        return self._ask(Done, "POST", "pools", pool, "faults", body=body)

    def platform(self) -> Platform:
        """Return what the platform adds on its own, and which pools lack it."""
        return self._ask(Platform, "GET", "platform")

    def patch_platform(self, spec: Fields, *, dry_run: bool) -> PatchedPlatform:
        """Change fields of the platform's document."""
        body = {"spec": spec, "dry_run": dry_run}
        return self._ask(PatchedPlatform, "PATCH", "platform", body=body)

    def plan(self, documents: Sequence[Json]) -> Proposed:
        """Return what documents would do."""
        return self._ask(Proposed, "POST", "plan", body={"documents": list(documents)})

    def apply(self, documents: Sequence[Json], shown: Proposed, *, dry_run: bool) -> Applied:
        """Put documents in force, if that does what was shown."""
        body = {
            "documents": list(documents),
            "plans": plain(shown.plans),
            "bases": dict(shown.bases),
            "dry_run": dry_run,
        }
        return self._ask(Applied, "POST", "apply", body=body)

    def machines(self, pool: str = "", *, with_gone: bool = False) -> Machines:
        """Return machines, of one pool or of all."""
        query = {"pool": pool, "gone": "1" if with_gone else ""}
        return self._ask(Machines, "GET", "machines", query=query)

    def machine(self, name: str) -> MachineDetail:
        """Return one machine in full."""
        return self._ask(MachineDetail, "GET", "machines", name)

    def machine_log(self, name: str, *, after: int = 0) -> MachineLog:
        """Return the end of what a machine printed; what follows `after` bytes, if it is so far."""
        query = {"after": str(after) if after else ""}
        return self._ask(MachineLog, "GET", "machines", name, "log", query=query)

    def delete_machine(self, name: str, *, force: bool = False) -> Done:
        """Tell a machine to leave; force: without waiting for its drain."""
        return self._ask(Done, "DELETE", "machines", name, body={"force": force})

    def break_machine(self, name: str, fault: Fault) -> Done:
        """Say what a machine does wrong from here on."""
        return self._ask(Done, "POST", "machines", name, "fault", body={"fault": fault.value})

    def whoami(self) -> Identity:
        """Return who asks, as the control plane sees them."""
        return self._ask(Identity, "GET", "whoami")

    def events(
        self,
        pool: str = "",
        *,
        machine: str = "",
        since: datetime | None = None,
        limit: int | None = None,
    ) -> Events:
        """Return the latest events, the oldest first; of one pool or machine if that is asked."""
        query = {
            "pool": pool,
            "machine": machine,
            "since": moment_text(since) if since else "",
            "limit": str(limit) if limit else "",
        }
        return self._ask(Events, "GET", "events", query=query)

    def _ask(
        self,
        kind: type[A],
        method: str,
        *names: str,
        body: Fields | None = None,
        query: Mapping[str, str] | None = None,
    ) -> A:
        path = "/v1/" + "/".join(quote(name, safe="") for name in names)
        asked = urlencode({name: value for name, value in (query or {}).items() if value})
        status, text = self._answer_of(method, path + (f"?{asked}" if asked else ""), body)
        if status not in GOOD:
            raise self._raised(status, text)
        try:
            return decode(kind, text)
        except InputError as error:
            raise InvariantError(
                f"the control plane answered with no {kind.__name__}: {error}"
            ) from error

    def _answer_of(self, method: str, path: str, body: Fields | None) -> tuple[int, bytes]:
        patience = Patience(self._timeout_s, self._on_wait)
        connection = _UnixConnection(self._directory, self._timeout_s, patience)
        try:
            connection.request(method, path, *_content_of(body))
            patience.wait(connection.sock, select.POLLIN)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            # Whoever has a cluster at hand is not sent to it: a command would change another plane.
            cluster = "; or ask that of KUBECONFIG: --kube" if os.environ.get("KUBECONFIG") else ""
            raise NotRunningError(
                f"no control plane runs in {self._directory.path} (start one: fairlead up{cluster})"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            told = os_problem(error) if isinstance(error, OSError) else type(error).__name__
            raise UnavailableError(
                f"the control plane in {self._directory.path} did not answer: {told}"
            ) from error
        finally:
            connection.close()

    @staticmethod
    def _raised(status: int, text: bytes) -> FairleadError:
        """Return what the control plane raised."""
        try:
            told = decode(Refused, text).error
        except InputError:
            problem = f"the control plane answered {status} without a reason"
            told = Refusal(kind=InvariantError.__name__, problem=problem)
        if told.kind == InputError.__name__:
            return InputError(told.problem, field=told.field, hint=told.hint)
        return _KINDS.get(told.kind, InvariantError)(told.problem)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, directory: StateDirectory, timeout_s: float, patience: Patience) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._directory = directory
        self._timeout_s = timeout_s
        self._patience = patience

    def connect(self) -> None:
        try:
            self.sock = connect(self._directory.socket, self._timeout_s)
        except PermissionError:
            from fairlead.embedded.access.way_in import connect_as_guest

            self.sock = connect_as_guest(
                self._directory, lambda path: connect(path, self._timeout_s)
            )

    def send(self, data: bytes) -> None:  # type: ignore[override]
        # A body of megabytes does not fit what the kernel keeps for a process that is stopped.
        if self.sock is None:
            self.connect()
        left = memoryview(data)
        while left:
            self._patience.wait(self.sock, select.POLLOUT)
            left = left[self.sock.send(left) :]


def _content_of(body: Fields | None) -> tuple[bytes | None, dict[str, str]]:
    if body is None:
        return None, {}
    return json.dumps(body).encode(), {"Content-Type": "application/json"}
