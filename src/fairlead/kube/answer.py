"""What an API server answers, read by msgspec, and its refusals as our errors."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from http.client import HTTPMessage
from typing import Any

import msgspec

from fairlead.answers.learned import learned
from fairlead.errors import ConflictError, InputError, UnavailableError
from fairlead.inputs.leaf import Json

UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, GONE, TOO_MANY = 401, 403, 404, 409, 410, 429
SERVER_ERROR = 500
SUCCESS, NO_SUCCESS = 200, 300

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said to one request."""

    status_code: int
    reason: str
    headers: HTTPMessage
    content: bytes = b""

    @property
    def is_success(self) -> bool:
        """Whether the server did what was asked."""
        return SUCCESS <= self.status_code < NO_SUCCESS


@dataclass(slots=True)
class Asked:
    """A request before it is sent; whoever shows who asks writes that into its headers."""

    headers: dict[str, str]


# Sends a request, and what is answered back; it ends once the answer is the last word.
Shown = Generator[Asked, Answer, None]


class ForbiddenError(InputError):
    """The server's roles do not let this user do it; the problem is what the server says."""


class Page(msgspec.Struct):
    """One answer of a list; its items are read later."""

    metadata: Object
    items: list[msgspec.Raw] | None = None


class ExpiredError(UnavailableError):
    """The version to go on from is too old; everything must be listed again."""


class BusyError(UnavailableError):
    """The server has too much to do. seconds: after which it may be asked again, as it says."""

    def __init__(self, message: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a watch. kind: ADDED, MODIFIED, DELETED or BOOKMARK."""

    kind: str
    object: Object

    @property
    def version(self) -> str:
        """What a watch that follows this change goes on from."""
        return version_of(self.object)


def version_of(found: Object) -> str:
    """Return the resourceVersion of an object, or of a list."""
    version: str = found.get("metadata", {}).get("resourceVersion", "")
    return version


def change_of(line: bytes) -> Change:
    """Return one line of a watch. Raises ExpiredError if it is too far behind."""
    document = decoded(line)
    changed = document.get("object") or {}
    if document.get("type") == "ERROR":
        problem = changed.get("message", "no reason given")
        if changed.get("code") == GONE:
            raise ExpiredError(f"the watch is too far behind: {problem}")
        raise UnavailableError(f"the server ended the watch: {problem}")
    return Change(document.get("type", ""), drop_managers(changed))


def drop_managers(found: Object) -> Object:
    """Forget who wrote which field: half of an object. Written without it, the server's stays."""
    metadata = found.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return found


def object_in(answer: bytes | None) -> Object | None:
    """Return the object of an answer, or None if there is none."""
    return None if answer is None else drop_managers(decoded(answer))


def page_of(content: bytes) -> Page:
    """Return one page of a list."""
    try:
        page: Page = msgspec.json.decode(content, type=learned(Page))
    except msgspec.MsgspecError as error:
        raise UnavailableError(f"an answer that is no list: {error}") from error
    return page


def decoded(content: bytes | msgspec.Raw) -> Object:
    """Return what an answer says. Raises UnavailableError if that is no object."""
    try:
        document = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"an answer that is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise UnavailableError("an answer that is no object")
    return document


def document_of(found: Object) -> Json:
    """Return what its owner wrote of an object, and nothing that the server added."""
    metadata = found["metadata"]
    kept = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    return {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "metadata": kept,
        "spec": found.get("spec", {}),
    }


def retry_after(answer: Answer) -> float:
    """Return the seconds that the server asks for."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else 1.0


def refuse_failed(answer: Answer, url: str) -> None:
    """Raise our error for an answer that is none of success."""
    status = answer.status_code
    if answer.is_success:
        return
    where = url.partition("?")[0]
    says = f"{where}: {message_of(answer)}"
    if status == CONFLICT:
        raise ConflictError(says)
    if status == GONE:
        raise ExpiredError(says)
    if status == TOO_MANY:
        raise BusyError(f"{says} (status {status})", retry_after(answer))
    if status >= SERVER_ERROR:
        raise UnavailableError(f"{says} (status {status})")
    if status == FORBIDDEN:
        raise ForbiddenError(message_of(answer))
    if status == UNAUTHORIZED:
        raise InputError(
            "the server does not know who asks (status 401)",
            hint="log in again: what the kubeconfig proves it by is over, or another cluster's",
        )
    raise InputError(f"{says} (status {status})")


def message_of(answer: Answer) -> str:
    """Return what the server says, with the budgets that refused an eviction."""
    try:
        document = msgspec.json.decode(answer.content)
    except msgspec.DecodeError:
        return answer.reason
    message = document.get("message") if isinstance(document, dict) else None
    said = message if isinstance(message, str) and message else answer.reason
    return " ".join([said, *_causes_in(document)])


def _causes_in(document: Any) -> list[str]:
    """Return which budgets refused an eviction; the message alone names none."""
    causes = ((document.get("details") or {}) if isinstance(document, dict) else {}).get("causes")
    return [
        one["message"]
        for one in causes or ()
        if one.get("reason") == "DisruptionBudget" and one.get("message")
    ]
