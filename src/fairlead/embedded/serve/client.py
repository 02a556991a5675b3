"""
A command's way to the control plane of a state directory: JSON over HTTP on its Unix socket.

What the control plane raised is raised here again, as the same class. Commands import this, so
it imports nothing that takes long: no server, no drawing.
"""

from __future__ import annotations

import http.client
import json
from typing import Any

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

# The slowest answer, a plan for a fleet, takes seconds.
TIMEOUT_S = 120.0

GOOD = range(200, 300)

_KINDS: dict[str, type[FairleadError]] = {
    kind.__name__: kind for kind in (TrustError, UnavailableError, ConflictError, InvariantError)
}


class Client:
    """Asks the control plane of one state directory. Every request is a connection of its own."""

    def __init__(self, directory: StateDirectory, timeout_s: float = TIMEOUT_S) -> None:
        self._directory = directory
        self._timeout_s = timeout_s

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """
        Return the answer. Raises what the control plane raised.

        Raises UnavailableError if no control plane runs, or none answers in time.
        """
        connection = _UnixConnection(self._directory, self._timeout_s)
        try:
            connection.request(method, path, *_content_of(body))
            answer = connection.getresponse()
            return _fields_of(answer.status, answer.read())
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            raise UnavailableError(
                f"no control plane runs in {self._directory.path} (start one: fairlead up)"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            told = str(error) or type(error).__name__
            raise UnavailableError(
                f"the control plane in {self._directory.path} did not answer: {told}"
            ) from error
        finally:
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, directory: StateDirectory, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = directory.socket
        self._timeout_s = timeout_s

    def connect(self) -> None:
        self.sock = connect(self._path, self._timeout_s)


def _content_of(body: dict[str, Any] | None) -> tuple[bytes | None, dict[str, str]]:
    if body is None:
        return None, {}
    return json.dumps(body).encode(), {"Content-Type": "application/json"}


def _fields_of(status: int, text: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text) if text else {}
    except ValueError as error:
        raise InvariantError(f"the control plane answered {status} with no JSON") from error
    if status in GOOD and isinstance(fields, dict):
        return fields
    raise _error_of(fields.get("error") if isinstance(fields, dict) else None, status)


def _error_of(told: object, status: int) -> FairleadError:
    fields = told if isinstance(told, dict) else {}
    problem = str(fields.get("problem") or f"the control plane answered {status} without a reason")
    kind = fields.get("kind")
    if kind == InputError.__name__:
        hint = str(fields.get("hint", ""))
        return InputError(problem, field=str(fields.get("field", "")), hint=hint)
    return _KINDS.get(str(kind), InvariantError)(problem)
