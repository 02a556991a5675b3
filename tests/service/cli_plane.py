"""Commands in this process against the real API over a real store, whose machines obey at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli.main import run_command
from fairlead.embedded.serve.api import make_api
from fairlead.embedded.serve.unix_socket import bind
from service.served_app import ServedApp, served_app
from service.stored_plane import StoredPlane


class PromptPlane(StoredPlane):
    """Settles every pool before the answer to a change is sent, unless it is asleep."""

    is_asleep = False

    def wake(self) -> None:
        super().wake()
        if not self.is_asleep:
            self.settle()


@dataclass
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def fields(self) -> Any:
        return json.loads(self.out)


class Commands:
    """Runs `fairlead` words against one control plane."""

    def __init__(
        self, plane: PromptPlane, app: ServedApp, capture: pytest.CaptureFixture[str]
    ) -> None:
        self.plane = plane
        self.app = app
        self._capture = capture

    def run(self, *words: str) -> Said:
        self._capture.readouterr()
        code = run_command([*words, "--state", str(self.plane.directory.path)])
        out, err = self._capture.readouterr()
        return Said(code, out, err)

    def json(self, *words: str) -> Any:
        said = self.run(*words, "--json")
        assert said.err == ""
        return said.fields

    def machines(self) -> list[str]:
        return [machine["name"] for machine in self.json("machine", "list")["machines"]]

    def settle(self) -> None:
        self.app.call(self.plane.settle)

    def sleep(self, *, is_asleep: bool = True) -> None:
        """Keep passes from running, so that what is between two of them can be seen."""
        self.plane.is_asleep = is_asleep


@contextmanager
def command_plane(path: Path, capture: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """Serve an empty control plane."""
    made: list[PromptPlane] = []

    def make() -> Any:
        plane = PromptPlane(path)
        # Ages are told against this computer's clock.
        plane.moment = datetime.now(UTC)
        made.append(plane)
        return make_api(plane)

    path.mkdir()
    with served_app(make, bind(path / "api.sock")) as app:
        try:
            yield Commands(made[0], app, capture)
        finally:
            app.call(made[0].close)
