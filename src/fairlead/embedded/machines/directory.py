"""
Machines that are directories: the real agent boots a private root from a real seed, without root.

Nothing but the agent runs in such a machine, and only while it boots. So a machine that left a
verdict is up for as long as its directory is there: it has no other way to fall.

In its directory: `root/` (the machine's disk), `pid`, `console.log` (of the last boot).
"""

from __future__ import annotations

import sys
from pathlib import Path

import fairlead
from fairlead.answers.words import Fault
from fairlead.embedded.machines.disk import MachineDisk
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.machines.last_words import last_line_of, last_words_of
from fairlead.embedded.machines.place import ROOT, list_places, place_of, remove_tree
from fairlead.embedded.machines.process import (
    console_end,
    find_process,
    find_start_ns,
    kill_processes,
    start_process,
    trim_console,
)
from fairlead.errors import UnavailableError
from fairlead.telling.errno_text import os_problem

# Last on the path, so that nothing installed beside us goes before the standard library.
START = (
    "import os, sys; sys.path.append(sys.argv.pop(1)); "
    "from fairlead.agent.main import main; os._exit(main())"
)


def agent_command() -> list[str]:
    """
    Return how the agent of this installation is started, be it from a wheel or from sources.

    Without site-packages, which it does not need: 11 ms instead of 20.
    """
    packages = Path(fairlead.__file__).resolve().parent.parent
    return [sys.executable, "-I", "-S", "-c", START, str(packages)]


class DirectoryMachines:
    """Every machine below `directory`. `agent` is the command that takes the agent's arguments."""

    name = "directory"

    def __init__(self, directory: Path, agent: list[str] | None = None) -> None:
        self._directory = directory.resolve()
        self._agent = agent_command() if agent is None else agent

    def power_on(self, machine: str, seed: Seed | None, fault: Fault) -> None:
        """Start a boot from this seed, or from what it has, unless that very one is under way."""
        place = place_of(self._directory, machine)
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            (place / ROOT).mkdir(mode=0o755, exist_ok=True)
            if fault is not Fault.NEVER_JOIN:
                self._boot(place, seed, fault)
        except OSError as error:
            why = os_problem(error)
            raise UnavailableError(f"{machine} cannot be given power: {why}") from error

    def _boot(self, place: Path, seed: Seed | None, fault: Fault) -> None:
        disk = MachineDisk(place / ROOT)
        is_same = seed is None or disk.has_seed(seed)
        if is_same and self.life_of(place.name) is Life.BOOTING:
            return
        kill_processes(place)
        disk.prepare_boot(seed, fault)
        # A path relative to its working directory: the agent takes no root that a shell might
        # have to quote, and a state directory may have any name.
        start_process(place, [*self._agent, "boot", "--root", ROOT], {})

    def life_of(self, machine: str) -> Life:
        """Return what can be seen of it; never DOWN."""
        place = place_of(self._directory, machine)
        trim_console(place)
        # First, since an agent that ended in between has left its verdict by then.
        is_running = find_process(place) is not None
        if not (place / ROOT).is_dir():
            return Life.ABSENT
        if MachineDisk(place / ROOT).has_verdict():
            return Life.UP
        return Life.BOOTING if is_running else Life.OFF

    def last_words(self, machine: str) -> str:
        """Return how far its boot came and what stopped it, in one line; '' if it left nothing."""
        place = place_of(self._directory, machine)
        since_ns = find_start_ns(place)
        if since_ns is None or not (place / ROOT).is_dir():
            return ""
        is_running = find_process(place) is not None
        said = last_words_of(MachineDisk(place / ROOT), since_ns, is_running=is_running)
        return said or last_line_of(console_end(place))

    def destroy(self, machine: str) -> None:
        """Afterwards nothing of it runs and nothing of it is here. Raises UnavailableError."""
        place = place_of(self._directory, machine)
        try:
            kill_processes(place)
            remove_tree(place)
        except OSError as error:
            raise UnavailableError(f"{machine} cannot be removed: {os_problem(error)}") from error

    def list_names(self) -> tuple[str, ...]:
        """Return every machine that has something here, sorted."""
        return list_places(self._directory)
