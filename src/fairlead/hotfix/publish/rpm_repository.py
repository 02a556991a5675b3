"""
The dnf repository of a depot, made by createrepo_c and signed.

`repodata/` is made whole beside the one that counts, and the two change places in one step: its
signature is another file, and dnf must never find one without the other.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from fairlead.hotfix.publish.depot import READABLE, Depot
from fairlead.hotfix.publish.programs import run
from fairlead.hotfix.publish.repository_key import RepositoryKey
from fairlead.whole_file import write_whole

REPODATA = "repodata"
NEXT = ".next-"

# linux/fs.h and fcntl.h
_EXCHANGE = 2
_FROM_HERE = -100


def has_index(depot: Depot) -> bool:
    """Say whether there is a dnf repository."""
    return (depot.rpm / REPODATA).is_dir()


def write_index(depot: Depot, packages: Sequence[str], now: datetime) -> None:
    """Make dnf see these packages, by their names below rpm/, and no other."""
    # A name of its own: a tool of a killed writer may still be at work in another.
    for left in depot.rpm.glob(f"{NEXT}*"):
        shutil.rmtree(left, ignore_errors=True)
    following = Path(tempfile.mkdtemp(prefix=NEXT, dir=depot.rpm))
    listed = following / "packages"
    listed.write_text("".join(f"{name}\n" for name in packages))
    options = ["--quiet", "--no-database", "--general-compress-type=gz", "--pkglist", str(listed)]
    options += [f"--revision={int(now.timestamp())}", "--set-timestamp-to-revision"]
    run(["createrepo_c", *options, "--outputdir", following, depot.rpm])
    made = following / REPODATA
    signature = RepositoryKey(depot).detached((made / "repomd.xml").read_bytes())
    write_whole(made / "repomd.xml.asc", signature, READABLE)
    for file in made.iterdir():
        file.chmod(READABLE)
        _sync(file)
    made.chmod(0o755)
    _sync(made)
    exchange(made, depot.rpm / REPODATA)
    shutil.rmtree(following)


def exchange(made: Path, counting: Path) -> None:
    """
    Let two directories change places in one step; the second may be missing. Raises OSError.

    Some network file systems cannot: there is none for a moment then, and dnf asks again.
    """
    if not counting.exists():
        made.rename(counting)
    else:
        libc = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(made), os.fsencode(counting)
        if libc.renameat2(_FROM_HERE, names[0], _FROM_HERE, names[1], _EXCHANGE) != 0:
            number = ctypes.get_errno()
            if number not in (errno.EINVAL, errno.ENOSYS):
                raise OSError(number, os.strerror(number), str(counting))
            counting.rename(made.with_name("before"))
            made.rename(counting)
    _sync(counting.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
