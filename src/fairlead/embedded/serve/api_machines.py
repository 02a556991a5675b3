"""What commands ask about machines, and what they do to them."""

from __future__ import annotations

from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.answering.edge import no_such
from fairlead.answering.machines import standing_of
from fairlead.answers.fix import MachineFix
from fairlead.answers.leaf import LeafDifference
from fairlead.answers.machine import MachineAnswer, MachineDetail, Machines
from fairlead.answers.reply import Done
from fairlead.answers.words import Fault
from fairlead.contract.boot_report import ignored_in, parse_report
from fairlead.contract.hotfix.fact import hotfix_in
from fairlead.contract.json_text import parse_json, plain
from fairlead.decision.explain import moment
from fairlead.embedded.access.guard import standing_in
from fairlead.embedded.serve.api_request import Plane, answered, read_fields
from fairlead.embedded.store.machines import StoredMachine
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.inputs.shape import kind_of
from fairlead.telling.fix import machine_fix
from fairlead.telling.machine import machine_answer
from fairlead.timeline.command import fault_asked
from fairlead.timeline.event import departure_of

# Revisions whose version is remembered: more than any number of pools has under way.
MOST_VERSIONS = 10_000


class MachineRoutes:
    """Routes below /v1/machines, over one control plane."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        # By revision, whose version never changes; secrets are read for those not seen before.
        self._versions: dict[str, str] = {}

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/machines", self.list_all, methods=["GET"]),
            Route("/v1/machines/{name}", self.show, methods=["GET"]),
            Route("/v1/machines/{name}", self.delete, methods=["DELETE"]),
            Route("/v1/machines/{name}/fault", self.break_one, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        """Return machines, of one pool or of all."""
        world = self._plane.world
        pool = request.query_params.get("pool", "")
        with_gone = request.query_params.get("gone", "") not in ("", "0")
        found = world.machines.list_stored(pool, with_gone=with_gone)
        if pool and not found and pool not in world.pools.list_pools():
            raise no_such("pool", pool, world.pools.list_pools())
        return answered(Machines(machines=tuple(self._answer_of(stored) for stored in found)))

    async def show(self, request: Request) -> Response:
        """Return one machine in full."""
        stored = self._find(request)
        world = self._plane.world
        events = world.journal.read_machine_events(stored.machine.name)
        difference, sentence = self._standing(stored)
        return answered(
            MachineDetail(
                **self._answer_of(stored).parts(),
                report=_report_of(stored),
                events=events,
                difference=difference,
                sentence=sentence,
                fix=self._fix_of(stored),
            )
        )

    async def delete(self, request: Request) -> Response:
        """Tell a machine to leave, because its owner says so."""
        fields = await read_fields(request, {"force": bool})
        name = self._find_living(request).machine.name
        world, actor = self._plane.world, standing_in(request).name
        with world.store.writing():
            machine = world.machines.delete_machine(name, actor, skips_drain=fields["force"])
            world.journal.append(departure_of(machine, self._plane.now(), actor))
        self._plane.wake()
        return answered(Done())

    async def break_one(self, request: Request) -> Response:
        """Say what a machine does wrong from here on."""
        fields = await read_fields(request, {"fault": str})
        machine, world = self._find_living(request).machine, self._plane.world
        fault, actor = parse_fault(fields["fault"], "fault"), standing_in(request).name
        with world.store.writing():
            world.machines.write_fault(machine.name, fault)
            told = fault_asked(machine.pool, machine.name, [fault.value], actor, self._plane.now())
            world.journal.append([told])
        self._plane.wake()
        return answered(Done())

    def _answer_of(self, stored: StoredMachine) -> MachineAnswer:
        machine = stored.machine
        if machine.revision not in self._versions:
            if len(self._versions) >= MOST_VERSIONS:
                self._versions.clear()
            tokens = self._plane.world.secrets.list_tokens(machine.pool)
            self._versions |= {token.id: token.revision.version for token in tokens}
            self._versions.setdefault(machine.revision, "")
        return stored_answer(stored).but(version=self._versions[machine.revision])

    def _fix_of(self, stored: StoredMachine) -> MachineFix | None:
        if not stored.report or stored.gone_at is not None:
            return None
        fact = hotfix_in(parse_report(stored.report))
        machine = stored.machine
        return machine_fix(fact, self._plane.world.fixes.read(), machine.name, machine.pool)

    def _find(self, request: Request) -> StoredMachine:
        machines = self._plane.world.machines
        name = request.path_params["name"]
        stored = machines.find_machine(name)
        if stored is None:
            raise no_such("machine", name, (machine.name for machine in machines.list_all()))
        return stored

    def _find_living(self, request: Request) -> StoredMachine:
        stored = self._find(request)
        if stored.gone_at is not None:
            living = (machine.name for machine in self._plane.world.machines.list_all())
            raise no_such("living machine", stored.machine.name, living)
        return stored

    def _standing(self, stored: StoredMachine) -> tuple[tuple[LeafDifference, ...], str]:
        """Return what a machine lacks, and why it is or is not being replaced."""
        machine, world = stored.machine, self._plane.world
        if stored.gone_at is not None:
            reason = machine.reason or "nobody said why"
            return (), f"{machine.name} is gone since {moment(stored.gone_at)}: {reason}."
        return standing_of(machine, world.world(), self._plane.now())


def stored_answer(stored: StoredMachine) -> MachineAnswer:
    """Return a machine with what only this edge knows of it."""
    return machine_answer(stored.machine).but(
        kind=stored.kind,
        fault=stored.fault,
        gone_at=stored.gone_at,
        boot_ms=_boot_ms(stored.report) if stored.report else None,
        ignored=_ignored(stored.report) if stored.report else (),
    )


def parse_fault(value: Json, field: str) -> Fault:
    """Return what a machine is to do wrong. Raises InputError."""
    names = [fault.value for fault in Fault]
    if value not in names:
        raise InputError(f"found {kind_of(value)}, expected {', '.join(names)}", field=field)
    return Fault(value)


def _report_of(stored: StoredMachine) -> Json:
    return plain(parse_json(stored.report)) if stored.report else None


# A list of machines is asked for several times a second, and a report never changes.
@lru_cache(maxsize=4096)
def _boot_ms(report: bytes) -> float:
    return parse_report(report).took_ms


@lru_cache(maxsize=4096)
def _ignored(report: bytes) -> tuple[str, ...]:
    return ignored_in(parse_report(report))
