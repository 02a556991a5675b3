"""
Where the files of a fix come from: a tree with the change in it, or a base package and a patch.

Either way the result is the agent's program with the packages beside it, told to be the version of
the fix. Nothing of the tree or the package that was given is changed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import fairlead
from fairlead.agent.bundle.make import key_of, read_sources
from fairlead.contract.image_version import base_of, may_upgrade
from fairlead.errors import InputError, UnavailableError
from fairlead.hotfix.publish.programs import run

PROGRAM = "fairlead-node"
INSTALLED = "usr/lib/fairlead"

BUILDER = "deploy/node/build_agent.py"
IN_TREE = "src/fairlead"

_VERSION = re.compile(r'^__version__ = "([0-9.]{1,40})"$', re.MULTILINE)
_KEY = re.compile(r"^KEY = \d+ ", re.MULTILINE)


def own_tree() -> Path:
    """Return the checkout that this installation runs from. Raises InputError if there is none."""
    tree = Path(fairlead.__file__).resolve().parent.parent.parent
    if not (tree / BUILDER).is_file():
        raise InputError(
            "this installation runs from no checkout of the sources", hint="--tree DIR names one"
        )
    return tree


def lay_out_tree(tree: Path, version: str, root: Path) -> None:
    """Put the agent of a tree below `root`, by that tree's own list of what ships."""
    builder = tree / BUILDER
    if not builder.is_file():
        raise InputError(f"{tree} is no checkout of Fairlead: it has no {BUILDER}", field="--tree")
    _refuse_version(version_in(tree / IN_TREE / "__init__.py"), version)
    command = [sys.executable, str(builder), str(root), "--version", version, "--sources"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()[-600:]
        raise UnavailableError(f"{builder} ended with {done.returncode}: {said}", said=said)


def lay_out_patched(package: Path, patch: Path, version: str, root: Path) -> None:
    """Put the agent of a .deb below `root`, with a patch on it that applies to the letter."""
    unpacked = root.with_name(f"{root.name}.unpacked")
    run(["dpkg-deb", "--extract", package.absolute(), unpacked])
    program = unpacked / INSTALLED / PROGRAM
    sources = Path(f"{program}.d") / "fairlead"
    if not program.is_file() or not (sources / "__init__.py").is_file():
        raise InputError(
            f"{package} holds no agent: no {INSTALLED}/{PROGRAM}", field="--base-package"
        )
    before = version_in(sources / "__init__.py")
    _refuse_version(before, version)
    patched = root.with_name(f"{root.name}.patched")
    (patched / IN_TREE).parent.mkdir(parents=True)
    sources.rename(patched / IN_TREE)
    _apply(patch, patched)
    packages = root / INSTALLED / f"{PROGRAM}.d"
    packages.mkdir(parents=True)
    (patched / IN_TREE).rename(packages / "fairlead")
    initial = packages / "fairlead" / "__init__.py"
    initial.write_text(initial.read_text().replace(before, version))
    # A bundle is used by the program that was built from the same sources, and by no other.
    text = _KEY.sub(f"KEY = {key_of(read_sources(str(packages)))} ", program.read_text())
    (root / INSTALLED / PROGRAM).write_text(text)
    (root / INSTALLED / PROGRAM).chmod(0o755)
    for done in (unpacked, patched):
        shutil.rmtree(done)


def version_in(file: Path) -> str:
    """Return the version that a package of sources says it has."""
    found = _VERSION.search(file.read_text())
    if found is None:
        raise InputError(f"{file} does not say which version it is")
    return found[1]


def day_of(version: str) -> int:
    """Return the first second of the day that a version is named after."""
    try:
        return int(datetime.strptime(version[:9], "%Y%m.%d").replace(tzinfo=UTC).timestamp())
    except ValueError as error:
        raise InputError(f"found {version!a}, expected YYYYMM.DD.PATCH") from error


def _refuse_version(before: str, version: str) -> None:
    """Refuse a version that no node with the one before would take."""
    if base_of(before) != base_of(version) or not may_upgrade(before, version):
        raise InputError(
            f"found {version!a}, expected {base_of(before)}.PATCH with a PATCH above that of "
            f"{before}, which the sources have",
            field="--version",
        )


def _apply(patch: Path, directory: Path) -> None:
    before = set(directory.rglob("*"))
    words = ["patch", "--strip=1", "--batch", "--forward", "--fuzz=0", "--reject-file=-"]
    words += ["--no-backup-if-mismatch", f"--directory={directory}"]
    try:
        run([*words, f"--input={patch.absolute()}"])
    except UnavailableError as error:
        raise InputError(
            f"does not apply to the letter, so nothing was built: {error.said}",
            field=str(patch),
            hint=f"make it with: git diff BASE -- {IN_TREE}/agent {IN_TREE}/contract",
        ) from error
    added = [path for path in set(directory.rglob("*")) - before if not path.is_dir()]
    strange = [
        path.relative_to(directory)
        for path in added
        if path.is_symlink() or not path.is_relative_to(directory / IN_TREE)
    ]
    if strange:
        raise InputError(
            f"adds what no agent carries: {', '.join(map(str, sorted(strange)))}",
            field=str(patch),
            hint=f"leave out all but files below {IN_TREE}",
        )
