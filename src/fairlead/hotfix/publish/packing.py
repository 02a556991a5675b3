"""
Packing a directory as a .deb or an .rpm whose bytes depend on what is in it and on nothing else.

Needs an interpreter and the distribution's tools: `make agent` runs it before there is a venv.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from fairlead.hotfix.publish.programs import run
from fairlead.whole_file import write_whole

# Where nobody says when the sources were changed.
DEFAULT_EPOCH = 1_700_000_000


def source_epoch(tree: Path) -> int:
    """Return the time of a tree's commit, or a fixed one outside a repository."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    try:
        shown = subprocess.run(
            ["git", "-C", str(tree), "log", "-1", "--format=%ct"],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return DEFAULT_EPOCH
    return int(shown.stdout) if shown.returncode == 0 else DEFAULT_EPOCH


def settle(root: Path, epoch: int) -> None:
    """Give the root and all below it the mode and time that a package carries, whatever umask."""
    for path in (root, *sorted(root.rglob("*"))):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def md5_sums(root: Path) -> str:
    """Return what dpkg compares installed files with: it finds damage, and proves nothing."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    lines = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  "
        f"{path.relative_to(root)}\n"
        for path in files
    ]
    return "".join(lines)


def pack_deb(root: Path, control: dict[str, str], package: Path, epoch: int) -> None:
    """
    Pack a directory as a .deb, and remove the directory.

    control: the files of DEBIAN/ by name; all but `control` are scripts.
    """
    sums = md5_sums(root)
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/md5sums").write_text(sums)
    for name, text in control.items():
        (root / "DEBIAN" / name).write_text(text)
        (root / "DEBIAN" / name).chmod(0o644 if name == "control" else 0o755)
    settle(root, epoch)
    command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(root), str(package)]
    _run(command, epoch)
    shutil.rmtree(root)


def pack_rpm(top: Path, spec: Path, package: Path, epoch: int) -> None:
    """Pack `top`/root, which is settled, as its spec says, and remove `top`."""
    settings = {
        "_topdir": str(top),
        "_buildhost": "reproducible",
        "_binary_payload": "w9.gzdio",
        "use_source_date_epoch_as_buildtime": "1",
        "clamp_mtime_to_source_date_epoch": "1",
    }
    defines = [f"--define={name} {value}" for name, value in settings.items()]
    # The installed files are the build root itself; rpmbuild removes it when it is done.
    command = ["rpmbuild", "-bb", "--noclean", f"--buildroot={top / 'root'}", "--quiet", *defines]
    _run([*command, str(spec)], epoch)
    # Often on another file system: temporary files lie in memory on many computers.
    write_whole(package, (top / "RPMS/noarch" / package.name).read_bytes(), 0o644)
    shutil.rmtree(top)


def _run(command: list[str], epoch: int) -> None:
    run(command, environment={"SOURCE_DATE_EPOCH": str(epoch)})
