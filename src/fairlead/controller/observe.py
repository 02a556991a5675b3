"""
The world as seams, and one read of it.

A pass reads everything first and writes afterwards. A seam that cannot answer raises
UnavailableError and the pass ends before it has written anything: trouble means keep.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from fairlead.answers.pool import PoolStatus
from fairlead.inputs.leaf import Json, Problem
from fairlead.inputs.platform_inputs import CODE_DEFAULTS
from fairlead.inputs.versions import ControlPlane
from fairlead.revision.hashing import CURRENT, Scheme
from fairlead.rollout.approval import Approval
from fairlead.rollout.fixes import NO_FIXES, Fixes, no_fixes
from fairlead.rollout.machines import Machine, Machines, Template
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import SecretStore, TokenSecret, UserData
from fairlead.rollout.served.pool_secrets import NOTHING_ADDED, Added
from fairlead.rollout.window import FindZone, utc_only
from fairlead.timeline.event import first_serial
from fairlead.timeline.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """
    What the names in the documents point to, looked up by the edge.

    added: how many bytes of what is served hold what was found. problem: why a lookup failed, or
    ''; then no revision is computed. field: where the name that was looked up stands.
    """

    release_digest: str = ""
    pull_secret: str = ""
    trust_bundle: str = ""
    added: Added = NOTHING_ADDED
    problem: str = ""
    field: str = "spec.release"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDocuments:
    """
    One pool's documents, as YAML, JSON or Kubernetes gives them.

    is_leaving: the owner deleted the pool. It is never taken back; who wants the pool again
    declares it again once it is gone. asked_by: who asked for what is declared, or for the end of
    the pool; '' where that is not known. control_plane: which the nodes join, on an edge where it
    says its version itself; None where only a person does, who is asked before anything is kept.
    """

    pool: Json
    platform: Json
    resolved: Resolved = Resolved()
    is_leaving: bool = False
    asked_by: str = ""
    control_plane: ControlPlane | None = None


class Pools(Protocol):
    """Where pools, their records and their status live."""

    def list_pools(self) -> tuple[str, ...]:
        """Return the names of all pools."""

    def read_documents(self, pool: str) -> PoolDocuments:
        """Return what is declared. Raises UnavailableError."""

    def read_platform(self) -> Json:
        """Return the platform's document as it was written."""

    def documents_with(self, pool: Json, platform: Json) -> PoolDocuments:
        """Return what read_documents would, if these two were in force. Writes nothing."""

    def find_unfit_secret(self, pool: Json) -> Problem | None:
        """
        Return why a machine could not use a secret that this document names, or None.

        One that is not there is no such problem: it may be put in its place later.
        """

    def find_record(self, pool: str) -> PoolRecord | None:
        """Return what the controller remembers, or None."""

    def find_status(self, pool: str) -> PoolStatus | None:
        """Return what the owner sees, or None."""

    def write_outcome(
        self, pool: str, record: PoolRecord | None, status: PoolStatus | None
    ) -> None:
        """Replace record and status, both or neither; None leaves one as it is."""

    def find_plan(self, pool: str) -> Approval | None:
        """Return the plan that the owner approved, or None."""

    def forget_pool(self, pool: str) -> None:
        """
        Forget a deleted pool: its document, record, status, plan and template.

        Called when no machine and no secret of it is left. Its events stay. Forgetting what is
        not there is no error.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """
    What the running code brings along: its hash scheme, its own defaults, and its time zones.

    Zones are files of the computer it runs on; the middle of the path opens none.
    """

    scheme: Scheme = CURRENT
    defaults: Mapping[str, Json] = field(default_factory=lambda: CODE_DEFAULTS)
    find_zone: FindZone = utc_only


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything outside, as seams."""

    pools: Pools
    machines: Machines
    secrets: SecretStore
    journal: Journal
    code: Code = field(default_factory=Code)
    # What is published at this moment. Never raises: what cannot be read is told in it.
    read_fixes: Callable[[], Fixes] = no_fixes


def with_fixes_read(world: World) -> World:
    """Return the world with what is published read once, for a look at many pools."""
    fixes = world.read_fixes()
    return replace(world, read_fixes=lambda: fixes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """
    One read of everything that one pass looks at.

    references: pairs that the edge itself still names. first_serial: what a first record counts on
    from; not 0 if a pool of this name was deleted.
    """

    pool: str
    documents: PoolDocuments
    record: PoolRecord | None
    status: PoolStatus | None
    plan: Approval | None
    template: Template | None
    machines: tuple[Machine, ...]
    tokens: Mapping[str, TokenSecret]
    user_data: Mapping[str, UserData]
    code: Code
    makes_by_itself: bool = False
    references: tuple[str, ...] = ()
    not_applied: Mapping[str, str] = field(default_factory=dict)
    first_serial: int = 0
    fixes: Fixes = NO_FIXES


def observe(pool: str, world: World, documents: PoolDocuments | None = None) -> Snapshot:
    """
    Return one read of a pool. Raises UnavailableError.

    documents: what to think of in the place of what is declared; the pool need not exist then.
    """
    record = world.pools.find_record(pool)
    return Snapshot(
        pool=pool,
        documents=documents or world.pools.read_documents(pool),
        record=record,
        status=world.pools.find_status(pool),
        plan=world.pools.find_plan(pool),
        template=world.machines.find_template(pool),
        machines=world.machines.list_machines(pool),
        tokens={secret.id: secret for secret in world.secrets.list_tokens(pool)},
        user_data={secret.id: secret for secret in world.secrets.list_user_data(pool)},
        code=world.code,
        makes_by_itself=world.machines.makes_by_itself,
        references=world.machines.list_references(pool),
        not_applied=world.machines.not_applied,
        fixes=world.read_fixes(),
        first_serial=0 if record else first_serial(world.journal.read_events(pool)),
    )
