"""What is kept for later questions: documents that were in force, and what machines printed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.answering.edge import no_such
from fairlead.answers.machine import MachineLog
from fairlead.answers.pool import PoolHistory
from fairlead.embedded.serve.api_request import Plane, answered, number_asked
from fairlead.errors import InputError

# A console is cut long before it has as many.
MOST_BYTES = 1 << 40


class KeptRoutes:
    """Routes about the past, over one control plane."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/pools/{name}/history", self.history, methods=["GET"]),
            Route("/v1/machines/{name}/log", self.log, methods=["GET"]),
        ]

    async def history(self, request: Request) -> Response:
        """Return what a pool's owner declared."""
        name, pools = request.path_params["name"], self._plane.world.pools
        documents = pools.read_history(name)
        if not documents:
            raise no_such("pool", name, pools.list_pools())
        return answered(PoolHistory(pool=name, documents=documents))

    async def log(self, request: Request) -> Response:
        """Return the end of what a machine printed; what follows `after` bytes, if it is so far."""
        name, machines = request.path_params["name"], self._plane.world.machines
        stored = machines.find_machine(name)
        if stored is None:
            raise no_such("machine", name, (machine.name for machine in machines.list_all()))
        if stored.gone_at is not None:
            raise InputError(
                "this machine is gone, and what it printed with it",
                field=name,
                hint=f"fairlead timeline {name} shows what it reported",
            )
        after = number_asked(request, "after", 0, MOST_BYTES)
        printed = self._plane.printed(name)
        end = printed.begin + len(printed.data)
        begin = after if printed.begin <= after <= end else printed.begin
        return answered(
            MachineLog(
                machine=name,
                power=printed.power,
                begin=begin,
                end=end,
                text=printed.data[begin - printed.begin :].decode("utf-8", "backslashreplace"),
                last_words=printed.last_words,
            )
        )
