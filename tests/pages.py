"""Pages of the documentation as scripts: the commands on them, run in their order."""

import os
import re
import subprocess
import sys
from pathlib import Path

from fairlead.embedded.state_directory import StateDirectory


def script_of(page: Path) -> str:
    """Every block of shell commands on a page."""
    return "\n".join(re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL))


def run_page(page: Path, folder: Path, state: StateDirectory) -> list[tuple[int, str]]:
    """Run a page's commands in a folder; return what `fairlead` was given, with its exit code."""
    ran = folder / "ran"
    function = (
        f'fairlead() {{ local code=0; "{sys.executable}" -m fairlead "$@" || code=$?; '
        f'echo "$code $*" >> "{ran}"; }}\n'
    )
    told = subprocess.run(
        ["bash", "-eux", "-c", function + script_of(page)],
        cwd=folder,
        env={**os.environ, "FAIRLEAD_STATE": str(state.path)},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    # Shown only where the test that called fails: then it is all that tells why.
    sys.stdout.write(told.stdout)
    lines = [line.partition(" ") for line in ran.read_text().splitlines()]
    return [(int(code), words) for code, _, words in lines]
