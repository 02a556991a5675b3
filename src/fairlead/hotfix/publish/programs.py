"""The tools of distributions that publishing is done with, run one at a time and within bounds."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

from fairlead.errors import InputError, UnavailableError

# The Debian package that has each of them.
PACKAGES = {
    "apt-ftparchive": "apt-utils",
    "createrepo_c": "createrepo-c",
    "dpkg-deb": "dpkg",
    "git": "git",
    "gpg": "gnupg",
    "gpg-agent": "gnupg",
    "gpgconf": "gnupg",
    "patch": "patch",
    "rpm": "rpm",
    "rpm2archive": "rpm",
    "rpmbuild": "rpm",
    "rpmsign": "rpm",
}

# Seconds. All of them work on files of this computer; a key is made in two at most.
LONGEST_RUN_S = 300

# Characters of what a tool said that are told.
LONGEST_TOLD = 600


def is_there(program: str) -> bool:
    """Say whether a tool is installed."""
    return which(program) is not None


def refuse_missing(programs: Sequence[str]) -> None:
    """Raise InputError that names what to install, before anything is written."""
    missing = [program for program in dict.fromkeys(programs) if not is_there(program)]
    if missing:
        packages = " ".join(sorted({PACKAGES[program] for program in missing}))
        raise InputError(
            f"not installed here: {', '.join(missing)}", hint=f"Debian: apt install {packages}"
        )


def run(
    words: Sequence[str | Path],
    *,
    given: bytes = b"",
    beside: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """
    Run a tool to its end and return what it printed.

    given: its stdin. beside: its working directory. Raises UnavailableError with its last words.
    """
    refuse_missing([str(words[0])])
    try:
        done = subprocess.run(
            [str(word) for word in words],
            input=given,
            cwd=beside,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})},
            capture_output=True,
            timeout=LONGEST_RUN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{words[0]} did not end within {LONGEST_RUN_S} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-LONGEST_TOLD:]
        raise UnavailableError(f"{words[0]} ended with {done.returncode}: {said}", said=said)
    return done.stdout
