"""The control plane in this process, with a live screen or with lines, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.clock import present
from fairlead.cli.commands.up_view import Overview, draw, lines_of, look
from fairlead.cli.files.documents import Document, parse_documents, read_documents
from fairlead.cli.output import stamp_lines
from fairlead.cli.screens.show import is_terminal
from fairlead.decision.explain import moment
from fairlead.embedded.machines.place import list_places
from fairlead.embedded.serve.client import Client
from fairlead.embedded.serve.log import keep_log
from fairlead.embedded.serve.plane import ControlPlane
from fairlead.errors import FairleadError, InputError, UnavailableError

if TYPE_CHECKING:
    from fairlead.embedded.machines.kind import MachineKind
    from fairlead.embedded.state_directory import StateDirectory

# Seconds between two drawings, and between two lines where there is no screen.
DRAW_S = 0.25

# Seconds. Where nothing happens only ages grow, and a look at 1,000 pools costs a third of one.
LOOK_AGAIN_S = 30.0

# Machines that are named; there may be many.
MOST_NAMES = 3

FIRST_DOCUMENTS = ("platform.yaml", "pool.yaml")


def run_here(directory: StateDirectory, kind: MachineKind, arguments: Namespace) -> int:
    """Run until a signal or `fairlead down`; machines run on afterwards."""
    return asyncio.run(_run(directory, kind, arguments))


async def _run(directory: StateDirectory, kind: MachineKind, arguments: Namespace) -> int:
    has_screen = is_terminal(sys.stdout) and not arguments.no_view
    keep_log(directory.log)
    if not has_screen:
        # Around what keeps the log, so that lines are escaped and have their times there, too.
        stamp_lines(lambda: f"{moment(present())} ")
    documents = read_all(arguments.file)
    plane = ControlPlane(directory, kind)
    try:
        _declare(plane, documents, makes_first=not arguments.empty)
    except FairleadError:
        plane.close()
        raise
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, plane.stop)
    is_ready = asyncio.Event()
    running = loop.create_task(plane.run(is_ready.set))
    ready = loop.create_task(is_ready.wait())
    await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        ready.cancel()
        await running
        return 0
    client = Client(directory)
    try:
        sight = Sight(client, running, lambda: plane.world.store.changes)
        await _show(sight, has_screen=has_screen)
    finally:
        plane.stop()
        await running
    sys.stderr.write("stopped; machines and state stay: `fairlead up` goes on with them\n")
    return 0


@dataclass(frozen=True, slots=True)
class Sight:
    """What is shown of a control plane that runs in this process. changes: a number that moves."""

    client: Client
    running: asyncio.Task[None]
    changes: Callable[[], int]

    async def overviews(self) -> AsyncIterator[Overview]:
        """Yield what is to be shown: when something was written, and now and then."""
        seen, looked_at = -1, 0.0
        while not self.running.done():
            changes = self.changes()
            if changes != seen or time.monotonic() - looked_at >= LOOK_AGAIN_S:
                seen, looked_at = changes, time.monotonic()
                yield await asyncio.to_thread(look, self.client)
            await asyncio.wait((self.running,), timeout=DRAW_S)


async def _show(sight: Sight, *, has_screen: bool) -> None:
    try:
        if has_screen:
            await _draw(sight)
        else:
            await _tell(sight)
    except UnavailableError:
        await sight.running  # it stopped between two looks


async def _draw(sight: Sight) -> None:
    from fairlead.cli.screens.live import LiveScreen

    hint = "Ctrl-C: stop the control plane; machines and state stay"
    with LiveScreen(is_error_stream=False, hint=hint, has_keys=False) as screen:
        async for overview in sight.overviews():
            draw(screen, overview)


async def _tell(sight: Sight) -> None:
    told: list[str] = []
    async for pools, _, _ in sight.overviews():
        lines = lines_of(pools)
        if lines != told:
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
            told = lines


def _declare(plane: ControlPlane, documents: list[Document], *, makes_first: bool) -> None:
    """Put the files that were given in force; without any, the first pool where nothing was."""
    if not documents and makes_first and plane.world.is_untouched():
        _refuse_strangers(plane)
        documents = first_documents()
    if documents:
        plane.declare(documents)


def _refuse_strangers(plane: ControlPlane) -> None:
    """Raise InputError if there are machines and nothing is known: something was forgotten."""
    found = list_places(plane.directory.machines)
    if found:
        raise InputError(
            f"there are machines in {plane.directory.machines} ({', '.join(found[:MOST_NAMES])}), "
            "and the database knows of no pool, so no first pool is made beside them",
            hint="`fairlead restore FILE --over` goes back to a backup, `fairlead up --empty` "
            "starts without a pool, `fairlead down --purge` removes the machines",
        )


def read_all(paths: list[Path]) -> list[Document]:
    """Return the documents of all files. Raises InputError by line and column."""
    return [document for path in paths for document in read_documents(path)]


def first_documents() -> list[Document]:
    """Return the documents of the first pool, as they are shipped."""
    found: list[Document] = []
    for name in FIRST_DOCUMENTS:
        text = files("fairlead.embedded.first").joinpath(name).read_text()
        found += parse_documents(text, name)
    return found
