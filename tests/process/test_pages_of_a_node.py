"""The page about a boot, as printed, in a fresh clone, on a machine that has booted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.embedded.state_directory import StateDirectory
from pages import run_page
from shared_cases import REPOSITORY

NODE_CONFIG = REPOSITORY / "examples/node-config.json"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The tree as it was committed, and nothing else."""
    folder = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", f"file://{REPOSITORY}", str(folder)],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine in a directory that has booted, with `fairlead-node` on the path."""
    root, tools = tmp_path / "root", tmp_path / "tools"
    root.mkdir()
    tools.mkdir()
    program = tools / "fairlead-node"
    program.write_text(
        f'#!/bin/sh\nverb=$1\nshift\nexec "{sys.executable}" -m fairlead.agent "$verb" '
        f'--root "{root}" "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    config = root / "etc/fairlead/node-config.json"
    config.parent.mkdir(parents=True)
    config.write_bytes(NODE_CONFIG.read_bytes())
    subprocess.run([str(program), "boot"], check=False, capture_output=True, timeout=60)
    return root


def test_the_page_about_reading_a_boot_works_as_printed(
    clone: Path, node: Path, tmp_path: Path
) -> None:
    assert node.is_dir()

    ran = run_page(clone / "docs/howto/read-a-boot.md", clone, StateDirectory(tmp_path / "state"))

    assert ran == [
        (0, "timeline show boot.json"),
        (0, "timeline show boot.json --html boot.html"),
        (0, "timeline show boot.json --svg boot.svg"),
        (0, "timeline show boot.json --json"),
        (0, "timeline show examples/boots/trixie.json"),
        (0, "timeline compare examples/boots/bookworm.json examples/boots/trixie.json"),
        (0, "timeline compare before after"),
        (0, "timeline show after"),
    ]
    assert (clone / "boot.html").read_text().startswith("<!doctype html>")
