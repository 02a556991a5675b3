"""
Somebody who has only just arrived: a user without rights, an empty home, a fresh clone.

The first line of the README installs the clone, once for all tests of a run. Each script then gets
a layer of its own over it, at the same place, in namespaces in which nothing outlives it. No part
of the environment comes along but how packages are fetched.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shared_cases import REPOSITORY

USER = 65534  # nobody, as Debian calls it
# Debian's own interpreter is the first there, where Debian has one.
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
# How packages are fetched here, if not from the usual place.
FETCHING = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}

HOME = "/srv/newcomer"
CLONE = f"{HOME}/fairlead"
MARK = "@@exit"

# A line goes on after a backslash, and with a text that it ends with the word END.
WHOLE_LINE = r".*<<'END'.*\n(?:.*\n)*?END\b|(?:.*\\\n)*.+"

# The first layer is written to as it is; later ones lie over it, in memory. /media is for drives
# that people plug in, which are theirs to write to.
INSIDE = f"""
place=$1 made=$2; shift 2
for at in /media "$place/mnt"; do mount -t tmpfs tmpfs "$at"; done
chown {USER}:{USER} /media
mkdir -p "$place/mnt/newcomer/fairlead" "$place/mnt/upper" "$place/mnt/work"
if test "$made" = new
then mount --bind "$place/clone" "$place/mnt/newcomer/fairlead"
else mount -t overlay overlay "$place/mnt/newcomer/fairlead" \\
  -o "lowerdir=$place/clone,upperdir=$place/mnt/upper,workdir=$place/mnt/work"
fi
chown {USER}:{USER} "$place/mnt/newcomer" "$place/mnt/newcomer/fairlead"
mount --rbind "$place/mnt" /srv
mount -t tmpfs -o mode=1777 tmpfs /tmp
cd {CLONE}
exec setpriv --reuid={USER} --regid={USER} --clear-groups "$@"
"""
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


@dataclass(frozen=True)
class Typed:
    """One line, as it was typed, with what came of it."""

    line: str
    code: int
    said: str


class Newcomer:
    """Types lines into a shell in the clone, as nobody."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def install(self) -> None:
        """Make the clone, and do what the README says first."""
        (self._place / "mnt").mkdir(parents=True)
        clone = self._place / "clone"
        source = ["git", "clone", "--quiet", "--no-hardlinks", f"file://{REPOSITORY}", str(clone)]
        subprocess.run(source, check=True)
        subprocess.run(["chown", "-R", f"{USER}:{USER}", str(clone)], check=True)
        [demo] = self._run(["make demo"], "new")
        assert demo.code == 0, demo.said

    def types(self, lines: Iterable[str]) -> list[Typed]:
        """Type lines into one shell; a line that ends in a backslash goes on in the next."""
        return self._run(lines, "installed")

    def _run(self, lines: Iterable[str], made: str) -> list[Typed]:
        whole = re.findall(WHOLE_LINE, "\n".join(lines))
        script = "".join(f"{line}\ncode=$?; echo; echo {MARK} $code\n" for line in whole)
        done = subprocess.run(
            [
                *(*NAMESPACES, "sh", "-euc", INSIDE, "inside", str(self._place), made),
                *("bash", "-c", script),
            ],
            env={**FETCHING, "HOME": HOME, "PATH": PATH, "COLUMNS": "120"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        parts = re.split(rf"\n{MARK} (\d+)\n", done.stdout)
        assert len(parts) == 2 * len(whole) + 1, shlex.join(whole) + done.stdout
        return [Typed(line, int(parts[2 * at + 1]), parts[2 * at]) for at, line in enumerate(whole)]
