"""A real control plane as a process, its commands, and what can be seen of it from outside."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import UnavailableError
from service.raw_client import RawClient

DEADLINE_S = 60.0


class RunningPlane:
    """`fairlead up` on one state directory. Leaving it stops the process and ends machines."""

    def __init__(self, path: Path, *words: str, descriptors: int = 0) -> None:
        self.directory = StateDirectory(path)
        # A shell sets how many descriptors the process may have, where a test says so.
        self._limit = ["/bin/sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "limit"]
        self._limit *= descriptors > 0
        self.client = RawClient(self.directory)
        # Beside it: a directory with other files in it does not become a control plane's.
        self._log = path.with_name(f"{path.name}.log")
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RunningPlane:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        subprocess.run(self.command("down", "--purge", "--yes"), check=False, capture_output=True)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "fairlead", *words, "--state", str(self.directory.path)]

    def run(self, *words: str, text: str = "", ok: tuple[int, ...] = (0,)) -> str:
        """Run a command of fairlead against this control plane and return its stdout."""
        done = subprocess.run(
            self.command(*words),
            input=text,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "120"},
        )
        assert done.returncode in ok, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Start the process; it may take a moment until it answers."""
        if self._process is not None:
            self._process.wait(DEADLINE_S)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._limit, *self.command("up", "--no-view", *self._words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """Kill the process without a word."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def wait(self, timeout_s: float) -> int:
        """Return the exit code of a process that ends by itself."""
        assert self._process is not None
        code = self._process.wait(timeout_s)
        self._process = None
        return code

    @property
    def pid(self) -> int:
        """The process, which must run."""
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        return self._process.pid

    def log(self) -> str:
        return self._log.read_text()

    def ask(self, path: str) -> dict[str, Any]:
        """GET, as soon as the control plane answers."""
        return dict(self.until(lambda: self.client.request("GET", path)))

    def until(self, look: Callable[[], Any], deadline_s: float = DEADLINE_S) -> Any:
        """Return what `look` gives once it gives something; a plane that is away is waited for."""
        end = time.monotonic() + deadline_s
        while True:
            try:
                if found := look():
                    return found
            except UnavailableError:
                assert self._process is None or self._process.poll() is None, self.log()
            assert time.monotonic() < end, f"{self.log()[-3000:]}"
            time.sleep(0.05)

    def settled(self, pool: str = "workers", deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """Return the pool once every machine that is wanted is there, ready and up to date."""

        def look() -> dict[str, Any] | None:
            found = self.client.request("GET", f"/v1/pools/{pool}")
            counts = {found[name] for name in ("desired", "updated", "available", "total")}
            is_done = len(counts) == 1 and found["state"] in ("Settled", "Drifted")
            return found if is_done else None

        return dict(self.until(look, deadline_s))

    def machine_names(self, pool: str = "workers") -> set[str]:
        found = self.ask(f"/v1/machines?pool={pool}")["machines"]
        return {machine["name"] for machine in found}

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Read the database as it lies there, while no control plane runs."""
        assert self._process is None, "the control plane must not run"
        connection = sqlite3.connect(self.directory.database)
        try:
            return connection.execute(sql, parameters).fetchall()
        finally:
            connection.close()
