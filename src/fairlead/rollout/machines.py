"""
Machines and the template they are made from, and the seam behind which they live.

A machine carries two revision ids: the one its template named, and the one it booted. They differ
only where a pool refreshes new machines under the name of a held revision.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from fairlead.answers.words import Phase
from fairlead.inputs.leaf import Json, Leaves


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What reaches machines without replacing them. No timeout means: wait for ever."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    drain_timeout: timedelta | None = None
    detach_timeout: timedelta | None = None


def taints_text(taints: Iterable[Json]) -> str:
    """Return taints as the kubelet's flag has them: key=value:effect, separated by commas."""
    return ",".join(_taint_text(taint) for taint in taints)


def _taint_text(taint: Json) -> str:
    fields = taint if isinstance(taint, Mapping) else {}
    value = f"={fields['value']}" if fields.get("value") else ""
    return f"{fields.get('key')}{value}:{fields.get('effect')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """
    One machine as its edge sees it.

    revision: id that its template named. booted: id of the inputs it fetched, or ''.
    heading_for: id that an in-place change is taking it to, or ''.
    ready_at: since when it is ready, for soaking. problem: what it waits for or died of, as its
    edge says (a disruption budget, a quota, the end of its flight record).
    reason: why it was told to leave; it stays with the machine. since: when it was told to leave
    or to change, or stopped being ready; None if it does none of these, or nobody noted it.
    asked_by: who asked for it to leave, or for what makes it leave; '' if nobody did.
    skips_drain: its owner wants it gone without waiting for its drain.
    agent: version of the agent that provisioned it, a fix's or the one that its image has, as its
    last boot reported; '' if that is not known. going: what its edge does with it after its drain,
    which ends by itself unless it takes too long; '' before that. goes_first: its edge takes it
    before others once it is told of fewer.
    """

    name: str
    pool: str
    revision: str
    phase: Phase
    created_at: datetime
    booted: str = ""
    heading_for: str = ""
    ready_at: datetime | None = None
    problem: str = ""
    reason: str = ""
    since: datetime | None = None
    asked_by: str = ""
    skips_drain: bool = False
    agent: str = ""
    going: str = ""
    goes_first: bool = False
    settings: NodeSettings = field(default_factory=NodeSettings)

    @property
    def is_available(self) -> bool:
        """Say whether it counts as available: ready, staying, and not being changed."""
        return self.phase is Phase.READY and not self.is_in_flight

    @property
    def is_leaving(self) -> bool:
        """Say whether it was told to leave."""
        return self.phase is Phase.LEAVING

    @property
    def is_in_flight(self) -> bool:
        """Say whether an in-place change is under way."""
        return bool(self.heading_for) and self.heading_for != self.revision


def oldest_first(machines: Iterable[Machine]) -> list[Machine]:
    """Return the machines in the order in which they were made."""
    return sorted(machines, key=lambda machine: (machine.created_at, machine.name))


def in_turn(machines: Iterable[Machine]) -> list[Machine]:
    """
    Return the machines in the order in which a rollout takes them.

    First what is being changed already, then what serves nobody and so costs no availability, and
    of equals the oldest: a stuck rollout never takes what it has just created.
    """
    return sorted(
        machines,
        key=lambda one: (not one.is_in_flight, one.is_available, one.created_at, one.name),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """
    How an edge that makes machines by itself is to do it; a share is text, like "25%".

    in_place: it replaces none, since our steps change them; it only keeps their number.
    waits_for_deletion: it replaces what somebody deletes, and nothing else. min_ready: how long a
    machine must have been ready to count. unhealthy: more unhealthy machines than these, and none
    is repaired; None means that none ever is. join_timeout: after this a machine that did not
    become ready is unhealthy; ready_timeout: one that stopped being ready. limits: fewest and most
    machines, where an autoscaler says how many.
    """

    max_surge: int | str
    max_unavailable: int | str
    in_place: bool = False
    waits_for_deletion: bool = False
    min_ready: timedelta = timedelta()
    unhealthy: int | str | None = None
    join_timeout: timedelta = timedelta()
    ready_timeout: timedelta = timedelta()
    limits: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """
    What machines are made from. `revision`, `version` and `machine_template` replace machines
    when they change; the rest is applied in place.

    is_held: an edge that replaces machines by itself must not, for now. pacing: how it is to make
    them; None where our own steps do it. surge: how many it makes beyond replicas, while machines
    are replaced for a fix.
    """

    revision: str
    version: str
    machine_template: Leaves
    replicas: int
    settings: NodeSettings = field(default_factory=NodeSettings)
    generation: int = 1
    observed_generation: int = 1
    is_held: bool = False
    pacing: Pacing | None = None
    surge: int = 0

    @property
    def is_observed(self) -> bool:
        """Say whether the edge has seen the latest write."""
        return self.observed_generation >= self.generation


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many machines one pool may have on an edge, and why no more."""

    machines: int
    why: str


class Machines(Protocol):
    """Where machines live. Every write is safe to repeat; names are never used twice."""

    # True if the edge makes as many machines as a template says by itself, as Cluster API does.
    # Those of an older template it replaces, pool by pool: not where they are changed in place,
    # which is left to our steps. It makes another one for each that is removed.
    makes_by_itself: bool

    # Leaves that machines here are told and do not apply: the reason by the path of a row of the
    # registry. Owners see it.
    not_applied: Mapping[str, str]

    # What this edge can hold; at most MOST_MACHINES, which no document may exceed anywhere.
    capacity: Capacity

    def list_machines(self, pool: str) -> tuple[Machine, ...]:
        """Return the pool's machines, those that leave included. Raises UnavailableError."""

    def list_references(self, pool: str) -> tuple[str, ...]:
        """
        Return the pairs that something of the edge's own would make machines from.

        Besides template and machines: an older set of machines that is being replaced. Raises
        UnavailableError; then nothing is deleted.
        """

    def find_template(self, pool: str) -> Template | None:
        """Return the pool's template, or None."""

    def point_template(self, pool: str, template: Template) -> None:
        """Name another revision; the generation goes up."""

    def apply_template(self, pool: str, template: Template) -> None:
        """Change replicas and settings; machines stay."""

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        """Start a machine from the template's pair."""

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Tell a machine to drain and go; the reason stays with it, and who asked."""

    def mark_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """
        Let an edge that makes machines take this one before others once it is told of fewer.

        Why, and who asked, stays with the machine.
        """

    def change_machine(self, name: str, revision: str) -> None:
        """Take a machine to another revision in place."""

    def apply_settings(self, name: str, settings: NodeSettings) -> None:
        """Give a running machine its labels, taints and timeouts."""
