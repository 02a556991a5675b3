"""What a real bash, zsh or fish offers behind the words typed so far."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from fairlead.cli.completion_scripts import script_for

_script_for = cache(script_for)

SHELLS = ("bash", "zsh", "fish")

# The `fairlead` of the environment that runs the tests, and what shells themselves need.
PATH = f"{Path(sys.executable).parent}:/usr/bin:/bin"

LONGEST_S = 20  # for one TAB on a busy computer, with the start of the shell


@dataclass(frozen=True)
class Shell:
    """One shell in a folder of its own, with our script and without anybody's settings."""

    name: str
    folder: Path
    environment: dict[str, str]

    def offers(self, line: str) -> list[str]:
        """Return what TAB at the end of the line offers, sorted."""
        ask = {"bash": self._bash, "zsh": self._zsh, "fish": self._fish}[self.name]
        return sorted({word for word in ask(line) if word})

    def _bash(self, line: str) -> list[str]:
        # readline ends a word at `=`, which is a word by itself.
        typed = re.findall(r"=|[^ =]+", line) + [""] * line.endswith(" ")
        words = " ".join(f"'{word}'" for word in typed)
        program = (
            f"source {self._script()}\nCOMP_WORDS=({words})\n"
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
            # compopt works only while TAB is being answered.
            'compopt() { :; }\n_fairlead; printf "%s\\n" "${COMPREPLY[@]}"\n'
        )
        return self._run(["bash", "--norc", "--noprofile", "-c", program])

    def _fish(self, line: str) -> list[str]:
        asked = f"source {self._script()}; complete -C '{line}'"
        return [row.split("\t")[0] for row in self._run(["fish", "--no-config", "-c", asked])]

    def _run(self, words: list[str]) -> list[str]:
        ran = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder,
            env=self.environment,
            timeout=LONGEST_S,
        )
        assert ran.stderr == ""
        return ran.stdout.splitlines()

    def _zsh(self, line: str) -> list[str]:
        """Type into a terminal: zsh completes nowhere else. What compadd was given is kept."""
        self._script()
        offered = self.folder / ".offered"
        done = self.folder / ".done"
        offered.write_text("")
        done.unlink(missing_ok=True)
        (self.folder / ".zshrc").write_text(ZSHRC.format(folder=self.folder))
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            ["zsh", "-i"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.folder,
            env={**self.environment, "ZDOTDIR": str(self.folder)},
            start_new_session=True,
        )
        os.close(theirs)
        try:
            shown = _read_until(ours, lambda seen: "READY" in seen)
            os.write(ours, f"{line}\t".encode())
            shown += _read_until(ours, lambda _: done.exists())
        finally:
            process.kill()
            process.wait(LONGEST_S)
            os.close(ours)
        assert done.exists(), shown
        assert "not found" not in shown
        return offered.read_text().splitlines()

    def _script(self) -> Path:
        # zsh finds a function in a file of its name; the others are told where it is.
        path = self.folder / ".completions" / "_fairlead"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_script_for(self.name))
        return path


# What zsh knows of all commands is kept beside the folders of all tests: it is the same for each.
ZSHRC = """\
PS1='READY '
unsetopt beep
fpath=({folder}/.completions $fpath)
autoload -Uz compinit
compinit -u -d {folder}/../.zcompdump
compadd() {{
  if (( ${{@[(I)-O]}} || ${{@[(I)-A]}} || ${{@[(I)-D]}} )); then
    builtin compadd "$@"
    return
  fi
  local -a hits
  builtin compadd -A hits "$@"
  (( $#hits )) && print -rl -- $hits >>{folder}/.offered
  builtin compadd "$@"
}}
complete_and_tell() {{
  zle complete-word
  : >{folder}/.done
}}
zle -N complete_and_tell
bindkey '^I' complete_and_tell
"""


def make_shell(name: str, folder: Path, **environment: str) -> Shell:
    """Return a shell that is installed; skips the test if it is not, which .ci/run never does."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    folder.mkdir(exist_ok=True)
    own = {"PATH": PATH, "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    return Shell(name, folder, {**own, **environment})


def _read_until(terminal: int, is_enough: Callable[[str], bool]) -> str:
    seen = ""
    end = time.monotonic() + LONGEST_S
    while not is_enough(seen) and time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.02)
        if ready:
            try:
                seen += os.read(terminal, 65536).decode("utf-8", "replace")
            except OSError:
                break
    return seen
