"""Each hook to its answer. Whatever goes wrong is a failure: never an empty success."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fairlead.errors import FairleadError, InputError
from fairlead.kube.answer import Object
from fairlead.kube.extension.claim import ASKED, claim_of
from fairlead.kube.extension.wire import (
    Hook,
    discovery,
    failure,
    in_progress,
    part_of,
    request_in,
    success,
    text_at,
)

# What a MachineSet is labelled with by the MachineDeployment that made it.
DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"

# Seconds between two looks at a change, which takes a minute or more.
AGAIN_S = 5


class Changes(Protocol):
    """What is done about machines; updates.py has it over an API server, tests without one."""

    def prepare(self, pool: str, deployment: str) -> None:
        """Let machines of a pool be moved in place. Raises FairleadError."""

    def update(self, namespace: str, name: str, told: str) -> str:
        """Return what a change is at, '' once it is done. Raises FairleadError."""

    def note_refusal(self, namespace: str, deployment: str, message: str) -> None:
        """Let the owner of a MachineDeployment see why nothing moves. Never raises."""


class Answers:
    """Answers hooks. on_defect: told of every request that failed for an unforeseen reason."""

    def __init__(self, changes: Changes, on_defect: Callable[[Exception], None]) -> None:
        self._changes = changes
        self._on_defect = on_defect

    def answer(self, hook: Hook, body: bytes) -> Object:
        """Return the answer to a request. Never raises."""
        try:
            return self._answer(hook, body)
        except FairleadError as error:
            return failure(hook, str(error))
        except Exception as error:  # noqa: BLE001 - door 4: a request's failure is its own
            self._on_defect(error)
            return failure(hook, f"a defect of Fairlead: {type(error).__name__}; see its log")

    def _answer(self, hook: Hook, body: bytes) -> Object:
        request = request_in(body)
        if hook is Hook.DISCOVERY:
            return discovery()
        if hook is Hook.UPDATE_MACHINE:
            return self._update(request)
        return self._can_update(hook, request)

    def _can_update(self, hook: Hook, request: Object) -> Object:
        namespace, deployment = _deployment_in(hook, request)
        try:
            claim = claim_of(hook, request)
            if claim.pool:
                self._changes.prepare(claim.pool, deployment)
        except InputError as error:
            if deployment:
                self._changes.note_refusal(namespace, deployment, str(error))
            raise
        return success(hook, claim.patches)

    def _update(self, request: Object) -> Object:
        machine = part_of(request, "desired", "machine")
        namespace, name = (text_at(machine, "metadata", one) for one in ("namespace", "name"))
        if not namespace or not name:
            raise InputError("names no Machine", field="desired.machine.metadata")
        told = text_at(machine, "spec", "bootstrap", "dataSecretName")
        says = self._changes.update(namespace, name, told)
        return in_progress(says, AGAIN_S) if says else success(Hook.UPDATE_MACHINE)


def _deployment_in(hook: Hook, request: Object) -> tuple[str, str]:
    """Return namespace and name of the MachineDeployment that asks; name '' if none does."""
    metadata = part_of(request, "desired", ASKED[hook].machine, "metadata")
    name = text_at(metadata, "labels", DEPLOYMENT_LABEL)
    return text_at(metadata, "namespace"), name
