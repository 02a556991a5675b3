"""
Pools as NodePools: what their owners declared, what the operator remembers, what owners see.

Record, status and events are one server-side apply of the status, made over exactly the NodePool
that the pass looked at: of two operators that act at once, the second is refused by the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from fairlead.answers.pool import PoolStatus
from fairlead.controller.observe import PoolDocuments
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Problem
from fairlead.inputs.parse import NO_PLATFORM
from fairlead.inputs.platform_inputs import Stub, with_stub
from fairlead.inputs.versions import ControlPlane
from fairlead.kept_text import (
    convert_value,
    parse_document,
    parse_value,
    render_document,
    render_value,
)
from fairlead.kube.answer import Object, document_of, version_of
from fairlead.kube.cluster_api.control_planes import noted_control_plane
from fairlead.kube.cluster_api.deployment import machine_of
from fairlead.kube.copies import Copies, newest_first
from fairlead.kube.journal import KubeJournal
from fairlead.kube.named_secrets import NamedSecrets
from fairlead.kube.names import FINALIZER, pool_of, split
from fairlead.kube.resource import (
    MACHINES,
    NODE_POOLS,
    PLATFORM_CONFIGS,
    ROLLOUT_PLANS,
    SECRETS,
)
from fairlead.kube.revisions import Revisions
from fairlead.kube.said import asker_of
from fairlead.kube.secrets import revisions_in
from fairlead.kube.status import (
    failed_status,
    is_failed,
    kept_condition,
    of_controller,
    of_edge,
    stamped_by_pass,
    status_fields,
    with_edge,
)
from fairlead.revision.revision import Revision
from fairlead.rollout.approval import Approval
from fairlead.rollout.fixes import Fixes, no_fixes
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.served.pool_secrets import put_secrets
from fairlead.telling.fix import pool_fixes

PLATFORM_NAME = "platform"


class KubePools:
    """The Pools seam over NodePools. home: the operator's own namespace."""

    def __init__(
        self, copies: Copies, revisions: Revisions, journal: KubeJournal, home: str, stub: Stub
    ) -> None:
        self._copies = copies
        self._revisions = revisions
        self._journal = journal
        self._home = home
        # Where machines reach the payload service, and what they trust it by.
        self.stub = stub
        self.secrets = NamedSecrets(copies)
        # What is published at this moment. Never raises.
        self.read_fixes: Callable[[], Fixes] = no_fixes
        # What is known of the control plane that a NodePool's machines join, for who may ask it.
        self.read_control_plane: Callable[[Object], ControlPlane] = noted_control_plane
        # Takes away what machines of a pool were made from, once all of them are gone.
        self.let_go: Callable[[str], None] = _nothing
        # The platform that was read last: its uid and version, the stub, and both as one document.
        self._platform: tuple[tuple[str, str], Stub, Json] | None = None
        # What is to be said of a pool once all of it is done, where the last pass could not do it.
        self._unsaid: dict[str, Object] = {}

    # What is declared.

    def list_pools(self) -> tuple[str, ...]:
        """Return all pools, as NAMESPACE/NAME."""
        return tuple(pool_of(*key) for key in self._copies.list_keys(NODE_POOLS))

    def is_gone(self, pool: str) -> bool:
        """Say whether there is no such pool any more."""
        return self._copies.find(NODE_POOLS, *split(pool)) is None

    def read_documents(self, pool: str) -> PoolDocuments:
        """Return what is declared. Raises InputError if there is no such pool."""
        found = self._read(pool)
        document = document_of(found)
        return PoolDocuments(
            pool=document,
            platform=self._platform_with_stub(split(pool)[0]),
            resolved=self.secrets.resolve(split(pool)[0], document),
            is_leaving="deletionTimestamp" in found["metadata"],
            asked_by=asker_of(found, document),
            control_plane=self.read_control_plane(found),
        )

    def read_platform(self) -> Json:
        """Return the platform's document that counts where a namespace has none of its own."""
        return self._platform_of(self._home)

    def documents_with(self, pool: Json, platform: Json) -> PoolDocuments:
        """Return what read_documents would, if these two were in force."""
        namespace, name = self._home, ""
        if isinstance(pool, Mapping) and isinstance(pool.get("metadata"), Mapping):
            namespace = str(pool["metadata"].get("namespace") or namespace)
            name = str(pool["metadata"].get("name"))
        found = self._copies.find(NODE_POOLS, namespace, name)
        return PoolDocuments(
            pool=pool,
            platform=with_stub(platform, self.stub),
            resolved=self.secrets.resolve(namespace, pool),
            control_plane=self.read_control_plane(found) if found else None,
        )

    def find_unfit_secret(self, pool: Json) -> Problem | None:
        """Return why a machine could not use a Secret that this document names, or None."""
        metadata = pool.get("metadata") if isinstance(pool, Mapping) else None
        namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
        try:
            put_secrets({}, self.secrets.read_all(str(namespace or self._home), pool))
        except InputError as error:
            return Problem(f"{error.field}.name", str(error)) if error.field else None
        return None

    # What the operator remembers, and what the owner sees.

    def find_record(self, pool: str) -> PoolRecord | None:
        """Return what the operator remembers, or None. Raises InputError if it is damaged."""
        kept = self._status(pool).get("record")
        if not kept:
            return None
        return self._copies.read_if_stays(pool, lambda: self._record_in(pool, kept))

    def find_status(self, pool: str) -> PoolStatus | None:
        """Return what the owner sees, or None."""
        status = self._status(pool)
        if "state" not in status:
            return None
        told = of_controller(status.get("conditions") or ())
        conditions = [kept_condition(one) for one in told]
        counted = {"total": status.get("replicas", 0), "conditions": conditions}
        return convert_value(PoolStatus, {**status, **counted})

    def write_outcome(
        self, pool: str, record: PoolRecord | None, status: PoolStatus | None
    ) -> None:
        """
        Replace record, status and events, all or none; None leaves one as it is.

        After a pass that failed the status waits for the end of this one: what stopped that may
        stop this, and a pool is not settled and blocked in turn.
        """
        found = self._read(pool)
        known = found.get("status") or {}
        written = dict(known)
        if record is not None:
            written["record"] = self._kept_record(pool, record)
        said = {} if status is None else status_fields(status, found)
        if said:
            said["conditions"] += of_edge(known.get("conditions") or ())
        if said and is_failed(known):
            self._unsaid[pool] = said
            if record is None:
                return
        else:
            written |= said
        written["conditions"] = stamped_by_pass(written.get("conditions") or (), found)
        # A further pass would find what this one found, and write nothing: steps that follow are
        # writes of other objects, which wake the pool. Another record may lead on to more.
        self._write_status(pool, found, written, is_last=record is None)

    def write_failure(self, pool: str, reason: str, says: str, now: datetime) -> None:
        """Say in the status why the last pass could not be ended; once, while it stays the same."""
        self._unsaid.pop(pool, None)
        found = self._copies.find(NODE_POOLS, *split(pool))
        if found is not None:
            known = dict(found.get("status") or {})
            written = failed_status(found, reason, says, now)
            is_told = known.get("observedGeneration") == found["metadata"]["generation"]
            if written != known or not is_told:
                # It is due again anyway, ever more rarely: its own failure wakes it no sooner.
                self._write_status(pool, found, written, is_last=True)

    def find_unreached(self, pool: str) -> str:
        """Return why its edge cannot act for a pool, or nodes of it cannot be told, or ''."""
        found = of_edge(self._status(pool).get("conditions") or ())
        return " ".join(one["message"] for one in found)

    def flush(self, pool: str, edge: Iterable[Object] = ()) -> None:
        """
        End a pass: write what was told after its outcome, and which generation it was about.

        edge: conditions that only this edge knows of.
        What nothing names any more goes here and not with the pair or record that named it: a
        pass that is killed in between leaves it to the next one.
        """
        unsaid = self._unsaid.pop(pool, {})
        found = self._copies.find(NODE_POOLS, *split(pool))
        if found is None:
            return
        status = (found.get("status") or {}) | unsaid
        told = {
            "observedGeneration": found["metadata"]["generation"],
            "conditions": stamped_by_pass(with_edge(status.get("conditions") or (), edge), found),
            "fixes": self._fixes_of(pool),
            "controlPlaneVersion": self.read_control_plane(found).version,
        }
        known = {"conditions": [], "fixes": [], "controlPlaneVersion": "", **status}
        if self._journal.has_untold(pool) or unsaid or known != known | told:
            self._write_status(pool, found, status | told, is_last=True)
        self._revisions.let_go(pool, self._named(pool))

    def find_plan(self, pool: str) -> Approval | None:
        """Return the newest plan that the owner approved, or None."""
        for found in newest_first(self._copies.list_of(ROLLOUT_PLANS, pool)):
            if found["spec"].get("approved") is True:
                plan = {**found["spec"]["plan"], "pool": pool}
                text = render_document(plan)
                return self._copies.read_if_stays(pool, partial(parse_value, Approval, text))
        return None

    def forget_pool(self, pool: str) -> None:
        """Let a deleted pool go: nothing of it is left that the operator would have to remove."""
        found = self._copies.find(NODE_POOLS, *split(pool))
        if found is None:
            return
        self.let_go(pool)
        self._journal.told(pool)
        kept = [one for one in found["metadata"].get("finalizers", ()) if one != FINALIZER]
        changed = {**found, "metadata": {**found["metadata"], "finalizers": kept}}
        self._copies.replace(NODE_POOLS, changed)
        if not kept:
            self._copies.note_gone(NODE_POOLS, found)

    def hold_on(self, pool: str) -> None:
        """Keep the NodePool there until everything of it is gone."""
        found = self._read(pool)
        finalizers = found["metadata"].get("finalizers", [])
        if FINALIZER in finalizers or "deletionTimestamp" in found["metadata"]:
            return
        metadata = {**found["metadata"], "finalizers": [*finalizers, FINALIZER]}
        self._copies.replace(NODE_POOLS, {**found, "metadata": metadata})

    def _read(self, pool: str) -> Object:
        found = self._copies.find(NODE_POOLS, *split(pool))
        if found is None:
            raise InputError(f"there is no pool {pool!r}")
        return found

    def _status(self, pool: str) -> Object:
        found = self._copies.find(NODE_POOLS, *split(pool)) or {}
        status: Object = found.get("status") or {}
        return status

    def _platform_of(self, namespace: str) -> Json:
        found = self._find_platform(namespace)
        return document_of(found) if found else dict(NO_PLATFORM)

    def _find_platform(self, namespace: str) -> Object | None:
        for place in (namespace, self._home):
            found = self._copies.find(PLATFORM_CONFIGS, place, PLATFORM_NAME)
            if found is not None:
                return found
        return None

    def _platform_with_stub(self, namespace: str) -> Json:
        """Return the platform's document for a pass: the very same to all that read one version."""
        found, stub = self._find_platform(namespace), self.stub
        mark = (found["metadata"].get("uid", ""), version_of(found)) if found else ("", "")
        known = self._platform  # of any thread; read once
        if known is None or known[:2] != (mark, stub):
            document = document_of(found) if found else dict(NO_PLATFORM)
            known = self._platform = mark, stub, with_stub(document, stub)
        return known[2]

    def _pointer(self, pool: str, identity: str) -> Revision | None:
        if not identity:
            return None
        found = self._revisions.find(pool, identity)
        if found is None:
            raise InputError(
                f"NodeRevision {identity} of {pool} is missing", hint="restore it from a backup"
            )
        return found

    def _record_in(self, pool: str, kept: Object) -> PoolRecord:
        record = convert_value(PoolRecord, {**_fields(kept["text"]), "pool": pool})
        return replace(
            record,
            applied=self._pointer(pool, kept.get("applied", "")),
            target=self._pointer(pool, kept.get("target", "")),
        )

    def _kept_record(self, pool: str, record: PoolRecord) -> Object:
        pointers = {"applied": record.applied, "target": record.target}
        for revision in pointers.values():
            if revision is not None:
                self._revisions.keep(pool, revision)
        text = render_value(replace(record, applied=None, target=None))
        return {"text": text, **{name: one.id if one else "" for name, one in pointers.items()}}

    def pointers_of(self, pool: str) -> set[str]:
        """Return the revisions that the record of a pool names."""
        record = self._status(pool).get("record") or {}
        return {record.get(pointer, "") for pointer in ("applied", "target")}

    def _named(self, pool: str) -> set[str]:
        named = self.pointers_of(pool)
        for secret in self._copies.list_of(SECRETS, pool):
            named |= revisions_in(secret)
        return named

    def _fixes_of(self, pool: str) -> list[str]:
        """Return what is to be said of fixes that machines of a pool lack, or should not have."""
        fixes = self.read_fixes()
        if fixes.problem:
            return [fixes.problem]
        if not fixes.by_version:
            return []
        machines = []
        for found in self._copies.list_of(MACHINES, pool):
            # A damaged one is told where machines are looked at: here it would hide that it was.
            with suppress(InputError):
                machines.append(machine_of(found, pool))
        namespace, name = split(pool)
        way = f"fairlead --kube -n {namespace} pool adopt {name} replaces those without it"
        return [one.says for one in pool_fixes(machines, fixes, way)]

    def _write_status(
        self, pool: str, found: Object, status: Object, *, is_last: bool = False
    ) -> None:
        metadata = found["metadata"]
        status["observedGeneration"] = metadata["generation"]
        status["journal"] = self._journal.texts_of(pool)
        status["fixes"] = self._fixes_of(pool)
        status["controlPlaneVersion"] = self.read_control_plane(found).version
        wanted = {
            "apiVersion": NODE_POOLS.api_version,
            "kind": NODE_POOLS.kind,
            "metadata": {name: metadata[name] for name in ("name", "namespace")},
            "status": status,
        }
        self._copies.apply(NODE_POOLS, wanted, "status", is_last=is_last)
        self._journal.told(pool)


def _nothing(_pool: str) -> None:
    return None


def _fields(text: str) -> dict[str, Any]:
    found: Any = parse_document(text)
    if not isinstance(found, dict):
        raise InputError("the record is no object", field="status.record")
    return found
