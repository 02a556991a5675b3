"""
A control plane in memory: every seam of the controller, a virtual clock, machines that behave.

It refuses what cannot happen, so that no test passes on an impossible state: a template or a
machine that names a pair which does not exist, a name used twice, a machine ready before it
booted. `writes` counts every write, and `crash_at` cuts the controller off before one of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

from fairlead.answers.pool import PoolStatus
from fairlead.answers.words import Phase
from fairlead.controller.observe import Code, PoolDocuments, Resolved, World
from fairlead.controller.reconcile import Chance, reconcile
from fairlead.errors import ConflictError, InvariantError
from fairlead.inputs.bounds import MOST_MACHINES
from fairlead.inputs.leaf import Json, Problem
from fairlead.inputs.parse import NO_PLATFORM
from fairlead.rollout.approval import Approval
from fairlead.rollout.fixes import NO_FIXES, offered_to
from fairlead.rollout.machines import Capacity, Machine, NodeSettings, Template
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import is_valid
from fairlead.sim.clock import Clock
from fairlead.sim.journal import SimJournal
from fairlead.sim.secrets import SimSecrets
from fairlead.timeline.event import removal_of
from fairlead.zones import find_zone

MOST_PASSES = 400
REFUSED_BOOT = "511: the token is not known"


class ControllerKilledError(RuntimeError):
    """The controller was cut off before a write. Everything before it is there, nothing after."""


class SimWorld(SimSecrets, SimJournal):
    """
    One simulated control plane. It is every seam at once.

    fates: for machines yet to be created, in order: 'ready', 'fail' or 'silent' (never joins);
    after them `fate`. stuck: names of machines whose drain does not end. fixes: what is published;
    `takes` says whether machines that boot take it in the place of `baked`, their image's agent.
    """

    makes_by_itself = False
    not_applied: Mapping[str, str] = MappingProxyType({})
    capacity = Capacity(MOST_MACHINES, "as many as a pool may have anywhere")

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.code = Code(find_zone=find_zone)
        self.documents: dict[str, PoolDocuments] = {}
        self.records: dict[str, PoolRecord] = {}
        self.statuses: dict[str, PoolStatus] = {}
        self.plans: dict[str, Approval] = {}
        self.templates: dict[str, Template] = {}
        self.living: dict[str, Machine] = {}
        super().__init__()
        self.gone: dict[str, Machine] = {}
        self.log: list[tuple[str, str]] = []
        self.crash_at: int | None = None
        self.fixes = NO_FIXES
        self.baked = "202607.02.0"
        self.takes = True
        self.fates: list[str] = []
        self.fate = "ready"
        self.stuck: set[str] = set()
        self._fate_of: dict[str, str] = {}
        self._shown_token: dict[str, str] = {}
        self._drawn = 0

    # Acting on the world.

    @property
    def writes(self) -> int:
        """How many writes the controller has made."""
        return len(self.log)

    def world(self) -> World:
        """Return this world as the controller sees it."""
        return World(
            pools=self,
            machines=self,
            secrets=self,
            journal=self,
            code=self.code,
            read_fixes=lambda: self.fixes,
        )

    def chance(self) -> Chance:
        """Return where tokens and names are drawn from: they count up."""
        return Chance(draw_token=self._draw_token, draw_name=self._draw_name)

    def one_pass(self, pool: str = "workers") -> int:
        """Run the controller once; return how many writes it made."""
        before = self.writes
        self.wake = reconcile(pool, self.world(), self.chance(), self.clock.now)
        return self.writes - before

    def settle(self, pool: str = "workers", minutes: int = 1) -> None:
        """Run the controller and the machines until neither does anything."""
        for _ in range(MOST_PASSES):
            wrote = self.one_pass(pool)
            moved = self.run_machines()
            self.clock.advance(timedelta(minutes=minutes))
            if pool not in self.documents or (not wrote and not moved):
                return
        raise InvariantError(f"{pool} does not settle: {self.statuses[pool]}")

    def run_machines(self) -> int:
        """Let every machine do what it is about to; return how many did something."""
        moved = 0
        for pool, template in self.templates.items():
            if not template.is_observed:
                observed = replace(template, observed_generation=template.generation)
                self.templates[pool] = observed
                moved += 1
        for machine in list(self.living.values()):
            moved += self._run_machine(machine)
        return moved

    def _run_machine(self, machine: Machine) -> bool:
        if machine.is_leaving:
            return self._leave(machine)
        if machine.is_in_flight:
            return self._change(machine)
        if machine.phase is Phase.BOOTING:
            return self._boot(machine)
        return False

    def _leave(self, machine: Machine) -> bool:
        if machine.name in self.stuck and not self._is_drain_over(machine):
            return False
        self.let_go(machine)
        return True

    def let_go(self, machine: Machine) -> None:
        """Let a machine be gone, which its edge tells."""
        self.gone[machine.name] = self.living.pop(machine.name)
        told = removal_of(machine, self.clock.now)
        self.events[told.pool, told.key] = told

    def _is_drain_over(self, machine: Machine) -> bool:
        limit = machine.settings.drain_timeout
        waited = self.clock.now - (machine.since or self.clock.now)
        return machine.skips_drain or (limit is not None and waited >= limit)

    def _change(self, machine: Machine) -> bool:
        if machine.phase is Phase.FAILED:
            return False
        if self._next_fate(machine.name) == "fail":
            self.fail(machine.name, "the change failed")
        else:
            token = self.tokens[machine.pool, machine.heading_for]
            self._put(
                replace(
                    machine,
                    revision=machine.heading_for,
                    agent=self._agent(),
                    heading_for="",
                    booted=token.served.id,
                    phase=Phase.READY,
                    ready_at=self.clock.now,
                    since=None,
                )
            )
        return True

    def _boot(self, machine: Machine) -> bool:
        fate = self._next_fate(machine.name)
        token = self.tokens.get((machine.pool, machine.revision))
        if token is None or not is_valid(token, self._shown_token[machine.name], self.clock.now):
            if machine.problem == REFUSED_BOOT:
                return False
            self._put(replace(machine, problem=REFUSED_BOOT))
            return True
        if fate == "silent":
            return False
        if fate == "fail":
            self.fail(machine.name, "stage provision: exit 50")
            return True
        self._put(
            replace(
                machine,
                phase=Phase.READY,
                ready_at=self.clock.now,
                booted=token.served.id,
                agent=self._agent(),
                problem="",
            )
        )
        return True

    def _agent(self) -> str:
        offered = offered_to(self.baked, self.fixes) if self.takes else None
        return offered.version if offered else self.baked

    def _next_fate(self, name: str) -> str:
        if name not in self._fate_of:
            self._fate_of[name] = self.fates.pop(0) if self.fates else self.fate
        return self._fate_of[name]

    def fail(self, name: str, problem: str) -> None:
        """Let a machine die."""
        self._put(replace(self.living[name], phase=Phase.FAILED, ready_at=None, problem=problem))

    def lose(self, name: str) -> None:
        """Let a ready machine become not ready."""
        machine = self.living[name]
        if machine.phase is Phase.READY:
            lost = replace(machine, phase=Phase.NOT_READY, ready_at=None)
            self._put(replace(lost, since=self.clock.now))

    def recover(self, name: str) -> None:
        """Let a machine that is not ready be ready again."""
        machine = self.living[name]
        if machine.phase is Phase.NOT_READY:
            self._put(replace(machine, phase=Phase.READY, ready_at=self.clock.now, since=None))

    def delete(self, name: str, *, skips_drain: bool = False) -> None:
        """Let the owner delete a machine by hand. The first reason stays."""
        if not self.living[name].is_leaving:
            self.release_machine(self.living[name], "deleted by hand")
        if skips_drain:
            self._put(replace(self.living[name], skips_drain=True))

    def release_machine(self, machine: Machine, reason: str) -> None:
        """Let a machine begin to drain."""
        leaving = replace(machine, phase=Phase.LEAVING, reason=reason, ready_at=None)
        self._put(replace(leaving, since=self.clock.now))

    def delete_pool(self, pool: str = "workers") -> None:
        """Let the owner delete a pool."""
        self.documents[pool] = replace(self.documents[pool], is_leaving=True)

    def _put(self, machine: Machine) -> None:
        if machine.phase is Phase.READY and not machine.booted:
            raise InvariantError(f"{machine.name} is ready and never booted")
        self.living[machine.name] = machine

    # The seams. Every write goes through _write first.

    def _write(self, kind: str, detail: str) -> None:
        if self.crash_at is not None and self.writes >= self.crash_at:
            self.crash_at = None
            raise ControllerKilledError(f"before write {self.writes}: {kind} {detail}")
        self.log.append((kind, detail))

    def _draw_token(self) -> str:
        self._drawn += 1
        return f"token-{self._drawn}"

    def _draw_name(self, pool: str) -> str:
        self._drawn += 1
        return f"{pool}-{self._drawn}"

    def list_pools(self) -> tuple[str, ...]:
        """Return the names of all pools."""
        return tuple(sorted(self.documents))

    def read_documents(self, pool: str) -> PoolDocuments:
        """Return what is declared."""
        found = self.documents[pool]
        return replace(found, resolved=replace(found.resolved, added=self.added))

    def read_platform(self) -> Json:
        """Return the platform's document: that of any pool, or one that sets nothing."""
        return next((found.platform for found in self.documents.values()), dict(NO_PLATFORM))

    def documents_with(self, pool: Json, platform: Json) -> PoolDocuments:
        """Return what read_documents would, if these two were in force; digests left out."""
        return PoolDocuments(pool=pool, platform=platform, resolved=Resolved(added=self.added))

    def find_unfit_secret(self, pool: Json) -> Problem | None:
        """Return None: secrets are digests here, and every machine can use them."""

    def find_record(self, pool: str) -> PoolRecord | None:
        """Return what the controller remembers."""
        return self.records.get(pool)

    def write_record(self, record: PoolRecord) -> None:
        """Replace the record."""
        self._write("record", record.pool)
        self.records[record.pool] = record

    def find_status(self, pool: str) -> PoolStatus | None:
        """Return what the owner sees."""
        return self.statuses.get(pool)

    def write_status(self, pool: str, status: PoolStatus) -> None:
        """Replace the status."""
        self._write("status", pool)
        self.statuses[pool] = status

    def write_outcome(
        self, pool: str, record: PoolRecord | None, status: PoolStatus | None
    ) -> None:
        """Replace record and status; None leaves one as it is."""
        if record is not None:
            self.write_record(record)
        if status is not None:
            self.write_status(pool, status)

    def find_plan(self, pool: str) -> Approval | None:
        """Return the plan that the owner approved."""
        return self.plans.get(pool)

    def forget_pool(self, pool: str) -> None:
        """Forget a deleted pool."""
        if self.list_machines(pool) or self.list_tokens(pool) or self.list_user_data(pool):
            raise InvariantError(f"{pool} is forgotten before its machines and secrets are gone")
        self._write("forget", pool)
        for kept in (self.documents, self.records, self.statuses, self.plans, self.templates):
            kept.pop(pool, None)

    def list_machines(self, pool: str) -> tuple[Machine, ...]:
        """Return the pool's machines."""
        return tuple(machine for machine in self.living.values() if machine.pool == pool)

    def list_references(self, pool: str) -> tuple[str, ...]:
        """Return nothing: what this edge makes is in the template and the machines."""
        del pool
        return ()

    def find_template(self, pool: str) -> Template | None:
        """Return the pool's template."""
        return self.templates.get(pool)

    def point_template(self, pool: str, template: Template) -> None:
        """Name another revision."""
        self.need_pair(pool, template.revision)
        known = self.templates.get(pool, template)
        if known.revision != template.revision and template.generation <= known.generation:
            raise InvariantError(f"{pool}: another revision, and the generation did not go up")
        self._write("template", f"{pool} {template.revision}")
        self.templates[pool] = template

    def apply_template(self, pool: str, template: Template) -> None:
        """Change replicas and settings."""
        known = self.templates[pool]
        if (known.revision, known.version) != (template.revision, template.version):
            raise InvariantError(f"{pool}: another revision may not be applied in place")
        self._write("template in place", pool)
        self.templates[pool] = template

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        """Start a machine."""
        if name in self.living or name in self.gone:
            raise ConflictError(f"the name {name} was used before")
        if self.templates[pool].revision != revision:
            raise InvariantError(
                f"{name} is made from {revision}, which the template does not name"
            )
        self.need_pair(pool, revision)
        self._write("create", name)
        self.start_machine(pool, name, revision)

    def start_machine(self, pool: str, name: str, revision: str) -> None:
        """Let a machine begin to boot."""
        self._shown_token[name] = self.user_data[pool, revision].token
        self.living[name] = Machine(
            name=name,
            pool=pool,
            revision=revision,
            phase=Phase.BOOTING,
            created_at=self.clock.now,
            settings=self.templates[pool].settings,
        )

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Tell a machine to go. The first reason stays; one that is gone is no error."""
        if not reason:
            raise InvariantError(f"{name} is removed without a reason")
        machine = self.living[name] if name in self.living else self.gone[name]
        if machine.is_leaving:
            return
        self._write("remove", name)
        self.release_machine(replace(machine, asked_by=asked_by), reason)

    def mark_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Refuse: the controller says itself who leaves."""
        raise InvariantError(f"the controller marked {name}: {reason} {asked_by}")

    def change_machine(self, name: str, revision: str) -> None:
        """Take a machine to another revision in place."""
        machine = self.living[name]
        self.need_pair(machine.pool, revision)
        self._write("change", name)
        self.living[name] = replace(machine, heading_for=revision, since=self.clock.now)

    def apply_settings(self, name: str, settings: NodeSettings) -> None:
        """Give a running machine its settings."""
        self._write("settings", name)
        self.living[name] = replace(self.living[name], settings=settings)
