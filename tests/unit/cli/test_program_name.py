"""Commands that are printed for somebody to type work where they are printed."""

import sys
from pathlib import Path

import pytest

from fairlead.cli.program_name import typed


@pytest.fixture(autouse=True)
def no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")


def test_a_program_that_is_on_the_path_is_called_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "fairlead"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert typed("fairlead pool list") == "fairlead pool list"


def test_another_one_is_called_as_it_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [".venv/bin/fairlead", "up"])

    assert typed("fairlead pool list") == ".venv/bin/fairlead pool list"


def test_a_module_is_called_by_its_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/src/fairlead/__main__.py", "up"])
    monkeypatch.setattr(sys, "executable", "/opt/my python/bin/python3")

    assert typed("fairlead pool list") == "'/opt/my python/bin/python3' -m fairlead pool list"
