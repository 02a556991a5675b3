"""
The runtime hooks of Cluster API as they cross the network. Pure.

hooks.runtime.cluster.x-k8s.io/v1alpha1 of Cluster API 1.14. A refusal is an answer of status 200
that says Failure: the core stops and asks again. Anything else than 200 it may be told to ignore,
and takes what it ignores for an empty success.
"""

from __future__ import annotations

import base64
import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from fairlead.errors import InputError
from fairlead.kube.answer import Object

API_VERSION = "hooks.runtime.cluster.x-k8s.io/v1alpha1"

# Bytes. Six objects, of which etcd takes 1.5 MiB each.
LONGEST_BODY = 10 << 20
# Levels. Templates of providers have about ten.
DEEPEST = 64

# Characters: a message goes into conditions and logs.
LONGEST_MESSAGE = 1024

# Seconds that the core waits for an answer, the most that it lets an extension say.
ANSWER_S = 30


class Hook(enum.Enum):
    """What is asked. The value is its name on the wire."""

    DISCOVERY = "Discovery"
    CAN_UPDATE_MACHINE = "CanUpdateMachine"
    CAN_UPDATE_MACHINE_SET = "CanUpdateMachineSet"
    UPDATE_MACHINE = "UpdateMachine"


# What each is called in an ExtensionConfig's status, and so at the end of its path.
HANDLERS = {
    Hook.CAN_UPDATE_MACHINE: "can-update-machine",
    Hook.CAN_UPDATE_MACHINE_SET: "can-update-machine-set",
    Hook.UPDATE_MACHINE: "update-machine",
}


def path_of(hook: Hook) -> str:
    """Return where a hook is asked."""
    path = f"/{API_VERSION}/{hook.value.lower()}"
    return f"{path}/{HANDLERS[hook]}" if hook in HANDLERS else path


HOOKS = {path_of(hook): hook for hook in Hook}


def request_in(body: bytes) -> Object:
    """Return a request. Raises InputError if it is none, or deeper than any that is."""
    try:
        request = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"the request is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise InputError("the request is not an object")
    _refuse_deep(request)
    return request


def _refuse_deep(request: Object) -> None:
    level: list[Any] = [request]
    for _ in range(DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    raise InputError(f"the request has more than {DEEPEST} levels")


def part_of(whole: Any, *path: str) -> Object:
    """Return the object at this path, {} if there is none. Raises InputError if it is no object."""
    for at, name in enumerate(path):
        whole = whole.get(name)
        if whole is None:
            return {}
        if not isinstance(whole, dict):
            raise InputError("is not an object", field=".".join(path[: at + 1]))
    return dict(whole)


def text_at(whole: Object, *path: str) -> str:
    """Return the text at this path, '' if there is none. Raises InputError if it is no text."""
    *above, last = path
    found = part_of(whole, *above).get(last, "")
    if not isinstance(found, str):
        raise InputError("is not text", field=".".join(path))
    return found


def success(hook: Hook, more: Mapping[str, Any] | None = None) -> Object:
    """Return the answer that nothing is wrong."""
    return {**_answer(hook, "Success"), **(more or {})}


def failure(hook: Hook, message: str) -> Object:
    """Return the answer on which the core changes nothing, and asks again later."""
    line = " ".join(message.split())
    short = line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"
    return {**_answer(hook, "Failure"), "message": short}


def _answer(hook: Hook, status: str) -> Object:
    answer: Object = {
        "apiVersion": API_VERSION,
        "kind": f"{hook.value}Response",
        "status": status,
    }
    # The one that is asked again until it says 0: also a failure has the field.
    return {**answer, "retryAfterSeconds": 0} if hook is Hook.UPDATE_MACHINE else answer


def in_progress(message: str, again_s: int) -> Object:
    """Return the answer that an update goes on, and when to ask for it again."""
    more = {"message": message[:LONGEST_MESSAGE], "retryAfterSeconds": again_s}
    return success(Hook.UPDATE_MACHINE, more)


def discovery() -> Object:
    """Return which hooks are answered here, and that no failure of one may be passed over."""
    handlers = [
        {
            "name": name,
            "requestHook": {"apiVersion": API_VERSION, "hook": hook.value},
            "timeoutSeconds": ANSWER_S,
            "failurePolicy": "Fail",
        }
        for hook, name in HANDLERS.items()
    ]
    return success(Hook.DISCOVERY, {"handlers": handlers})


def merge_patch(path: tuple[str, ...], changed: Object) -> Object:
    """Return the patch that makes these fields so, below this path."""
    document: Any = changed
    for name in reversed(path):
        document = {name: document}
    text = base64.b64encode(msgspec.json.encode(document)).decode()
    return {"patchType": "JSONMergePatch", "patch": text}
