"""The payload service over an API server: what it answers, and its threads."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from fairlead.cli.clock import present
from fairlead.cli.commands.kube.served_app import Listening, ServedApp
from fairlead.embedded.serve.log import Log
from fairlead.kube.cluster_api.workload import KubeJoins
from fairlead.kube.serve.own_question import problem_of
from fairlead.kube.serve.payloads import KubePayloads
from fairlead.kube.serve.threads import Threads
from fairlead.kube.world import KubeWorld
from fairlead.payload.app import make_app

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class PayloadServer:
    """
    Serves machines until it is closed. Raises OSError if the port is taken.

    reports: what machines said of their boots.
    """

    def __init__(self, world: KubeWorld, listening: Listening, log: Log) -> None:
        source = KubePayloads(world)
        self.reports = source.reports
        joins = KubeJoins(world.workloads, source.find_cluster)
        self.answered: Counter[int] = Counter()
        self.threads = Threads()
        app = make_app(
            source, present, joins, lambda error: log.tell(f"a request: {error!r}"), self.threads
        )
        self._served = ServedApp(_counting(app, self.answered), listening, log)

    def start(self) -> None:
        """Begin to serve, in this event loop."""
        self._served.start()

    async def close(self) -> None:
        """Let answers under way end."""
        await self._served.close()
        await asyncio.to_thread(self.threads.close)

    def problem(self) -> str:
        """Return why machines are not served, or ''. For another thread than the loop's."""
        return problem_of(*self._served.own)


def _counting(app: ASGIApp, answered: Counter[int]) -> ASGIApp:
    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered[message["status"]] += 1
            await send(message)

        await app(scope, receive, noted)

    return counted
