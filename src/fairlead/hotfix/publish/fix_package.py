"""
The package of a fix: a name and a prefix of its own, no maintainer scripts, no byte code.

All of it lies in a directory of that version, so that unpacking it changes nothing that runs; what
stages a fix is one link that is renamed. Two builds of one source give the same bytes.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.hotfix.script_files import DOCUMENT, SCRIPTS
from fairlead.errors import InputError
from fairlead.hotfix.publish.fix_sources import (
    INSTALLED,
    PROGRAM,
    day_of,
    lay_out_patched,
    lay_out_tree,
)
from fairlead.hotfix.publish.packing import pack_deb, pack_rpm, settle, source_epoch
from fairlead.hotfix.publish.programs import is_there, refuse_missing
from fairlead.hotfix.publish.script_documents import refuse_unless_taken

NAME = "fairlead-node-hotfix"
PREFIX = "usr/lib/fairlead-node/hotfix"

CONTROL = """\
Package: {name}
Version: {version}
Architecture: all
Maintainer: Fairlead maintainers <maintainers@fairlead.invalid>
Depends: python3 (>= 3.10)
Section: admin
Priority: optional
Description: a fix for nodes whose image has the agent {base}
 Lies beside the agent of the image and replaces none of its files. The agent
 of the image uses it if a signed pointer asks for it and it passes its test.
"""

SPEC = """\
Name: {name}
Version: {version}
Release: 1
Summary: A fix for nodes whose image has the agent {base}
License: Apache-2.0
BuildArch: noarch
Requires: python3 >= 3.10
AutoReqProv: no
%global __os_install_post %{{nil}}

%description
Lies beside the agent of the image and replaces none of its files. The agent
of the image uses it if a signed pointer asks for it and it passes its test.

%files
{files}

%changelog
* {day} Fairlead maintainers <maintainers@fairlead.invalid> - {version}-1
- Fix {version}.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a fix is made of: a tree, or a base package with a patch; and files beside the agent."""

    version: str
    tree: Path | None = None
    base_package: Path | None = None
    patch: Path | None = None
    scripts: Path | None = None
    custom_data: Path | None = None


def build_fix(recipe: Recipe, output: Path) -> tuple[Path, ...]:
    """Build into a directory; return the packages. Without rpmbuild there is no .rpm."""
    documents = _read_documents(recipe)
    refuse_missing(["dpkg-deb", *(["patch"] if recipe.patch else [])])
    epoch = source_epoch(recipe.tree) if recipe.tree else day_of(recipe.version)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fairlead-build-") as directory:
        top = Path(directory)
        home = _lay_out(recipe, top / "root")
        for path, content in documents.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_bytes(content)
        packages = [output / f"{NAME}_{recipe.version}_all.deb"]
        shutil.copytree(top / "root", top / "deb", symlinks=True)
        control = CONTROL.format(name=NAME, version=recipe.version, base=_base_of(recipe.version))
        pack_deb(top / "deb", {"control": control}, packages[0], epoch)
        if is_there("rpmbuild"):
            packages.append(output / f"{NAME}-{recipe.version}-1.noarch.rpm")
            _build_rpm(top, recipe.version, packages[1], epoch)
    return tuple(packages)


def _build_rpm(top: Path, version: str, package: Path, epoch: int) -> None:
    building = top / "rpm"
    building.mkdir()
    root = (top / "root").rename(building / "root")
    settle(root, epoch)
    below = sorted((root / PREFIX / version).rglob("*"))
    paths = [(f"/{path.relative_to(root)}", path.is_dir()) for path in below]
    files = [f"%dir /{PREFIX}/{version}"]
    files += [f'%dir "{path}"' if is_dir else f'"{path}"' for path, is_dir in paths]
    spec = building / f"{NAME}.spec"
    spec.write_text(
        SPEC.format(
            name=NAME,
            version=version,
            base=_base_of(version),
            files="\n".join(files),
            # The day of a change is part of its header, in English, as the C locale has it.
            day=time.strftime("%a %b %d %Y", time.gmtime(epoch)),
        )
    )
    pack_rpm(building, spec, package, epoch)


def _lay_out(recipe: Recipe, root: Path) -> Path:
    """Put the agent of a fix below `root`; return its directory."""
    sources = root.with_name("sources")
    if recipe.tree:
        lay_out_tree(recipe.tree, recipe.version, sources)
    elif recipe.base_package and recipe.patch:
        lay_out_patched(recipe.base_package, recipe.patch, recipe.version, sources)
    else:
        raise InputError("a fix is built from --tree, or from --base-package with --patch")
    home = root / PREFIX / recipe.version
    home.mkdir(parents=True)
    for name in (PROGRAM, f"{PROGRAM}.d"):
        (sources / INSTALLED / name).rename(home / name)
    return home


def _read_documents(recipe: Recipe) -> dict[str, bytes]:
    """Return script files by their path below the fix; refuse what no node would take."""
    documents: dict[str, bytes] = {}
    if recipe.scripts:
        files = _plain_files(recipe.scripts)
        documents = {f"{SCRIPTS}/{path}": content for path, content in files.items()}
        refuse_unless_taken(documents, "--scripts")
    if recipe.custom_data:
        documents[DOCUMENT] = recipe.custom_data.read_bytes()
        refuse_unless_taken(documents, "--nodecustomdata")
    return documents


def _plain_files(source: Path) -> dict[str, bytes]:
    """Return files by path; a link or a pipe is nothing that a fix carries."""
    if not source.is_dir():
        raise InputError(f"{source} is no directory", field="--scripts")
    files = {}
    for found in sorted(source.rglob("*")):
        if found.is_symlink() or not (found.is_dir() or found.is_file()):
            raise InputError(f"{found} is no plain file", field="--scripts")
        if found.is_file():
            files[str(found.relative_to(source))] = found.read_bytes()
    return files


def _base_of(version: str) -> str:
    return version.rpartition(".")[0]
