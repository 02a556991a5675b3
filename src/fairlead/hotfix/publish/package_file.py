"""
A package that somebody wants to publish: what it says of itself, and whether it keeps the rules.

A fix of ours must lie below a directory of its version and bring no scripts: unpacking it must
change nothing on a node, and nodes must take the script files in it. Packages of the AKS agent are
as their makers built them.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fairlead.contract.hotfix.answer import AKS_COMPONENT, OUR_COMPONENT
from fairlead.contract.image_version import base_of, is_version
from fairlead.errors import InputError, UnavailableError
from fairlead.hotfix.publish.fix_package import NAME, PREFIX
from fairlead.hotfix.publish.programs import run
from fairlead.hotfix.publish.script_documents import is_beside_the_agent, refuse_unless_taken

# What packages of each component are called.
NAMES = {NAME: OUR_COMPONENT, "aks-node-controller": AKS_COMPONENT}

# Bytes. The AKS agent has 20 MiB.
LARGEST_PACKAGE = 256 << 20

# A distribution may add its own mark behind the version: 202604.01.3-ubuntu22.04u1.
_VERSION = re.compile(r"([0-9]{6}\.[0-9]{2}\.[0-9]{1,9})([-+~][A-Za-z0-9.+~-]{1,60})?", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,99}", re.ASCII)

_CONTROL_FILES = {"control", "md5sums"}
_RPM_FIELDS = "%{NAME}\n%{VERSION}\n%{RELEASE}\n%{ARCH}\n%{SHA256HEADER}\n"
_RPM_FILES = "[%{FILEMODES:perms} %{FILENAMES}\n]"
_RPM_SCRIPTS = "%|PREIN?{x}|%|POSTIN?{x}|%|PREUN?{x}|%|POSTUN?{x}|%|TRIGGERNAME?{x}|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """
    A package before it is in a depot.

    stored: where it goes below the depot. identity: equal for equal packages; of an .rpm it leaves
    out the signature, which a depot adds.
    """

    file: Path
    component: str
    version: str
    format: str
    stored: str
    identity: str

    @property
    def base(self) -> str:
        """The image base that it is for."""
        return base_of(self.version) or ""


def look_at(file: Path) -> Offered:
    """Return what a package is. Raises InputError if it may not be published."""
    try:
        size = file.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    if not file.is_file() or size > LARGEST_PACKAGE:
        raise InputError(f"{file} is no file of at most {LARGEST_PACKAGE} bytes")
    if file.suffix not in (".deb", ".rpm"):
        raise InputError(f"{file} is no .deb and no .rpm")
    try:
        return _deb(file) if file.suffix == ".deb" else _rpm(file)
    except (UnavailableError, tarfile.TarError) as error:
        raise InputError(f"{file} is no whole package: {error}") from error


def _deb(file: Path) -> Offered:
    words = ["dpkg-deb", "--show", "--showformat=${Package}\\n${Version}\\n${Architecture}\\n"]
    name, told, architecture = _words(run([*words, file]), 3, file)
    component = _component_of(name, file)
    version = _version_of(told, component, file)
    if component == OUR_COMPONENT:
        control = _members(run(["dpkg-deb", "--ctrl-tarfile", file]))
        names = {Path(member.name).name for member in control if member.isfile()}
        _refuse_scripts(names - _CONTROL_FILES, file)
        archive = run(["dpkg-deb", "--fsys-tarfile", file])
        _refuse_outside(map(_deb_entry, _members(archive)), version, file)
        refuse_unless_taken(_documents_in(archive, version), str(file))
    return Offered(
        file=file,
        component=component,
        version=version,
        format="deb",
        stored=f"apt/pool/{name}_{told}_{architecture}.deb",
        identity=sha256(file.read_bytes()).hexdigest(),
    )


def _members(archive: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return opened.getmembers()


def _documents_in(archive: bytes, version: str) -> dict[str, bytes]:
    """Return the script files of a fix by their path below its directory."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for member in opened:
            path = _path_of(member).removeprefix(f"/{PREFIX}/{version}/")
            content = opened.extractfile(member) if is_beside_the_agent(path) else None
            if content is not None:
                found[path] = content.read()
    return found


def _deb_entry(member: tarfile.TarInfo) -> tuple[str, str]:
    kind = "d" if member.isdir() else "-" if member.isfile() and not member.mode & 0o7000 else "?"
    return kind, _path_of(member)


def _path_of(member: tarfile.TarInfo) -> str:
    return "/" + member.name.removeprefix("./").removeprefix(".").strip("/")


def _rpm(file: Path) -> Offered:
    query = ["rpm", "-qp", "--nosignature", "--queryformat"]
    name, told, release, architecture, identity = _words(run([*query, _RPM_FIELDS, file]), 5, file)
    component = _component_of(name, file)
    version = _version_of(told, component, file)
    if component == OUR_COMPONENT:
        _refuse_scripts({"a script"} if run([*query, _RPM_SCRIPTS, file]) else set(), file)
        listed = run([*query, _RPM_FILES, file]).decode().splitlines()
        _refuse_outside(map(_rpm_entry, listed), version, file)
        archive = run(["rpm2archive", "--nocompression", "-"], given=file.read_bytes())
        refuse_unless_taken(_documents_in(archive, version), str(file))
    return Offered(
        file=file,
        component=component,
        version=version,
        format="rpm",
        stored=f"rpm/{name}-{told}-{release}.{architecture}.rpm",
        identity=identity,
    )


def _rpm_entry(line: str) -> tuple[str, str]:
    mode, _, path = line.partition(" ")
    is_plain = mode[:1] in "d-" and not set(mode) & set("sStT")
    return mode[:1] if is_plain else "?", path


def _words(output: bytes, count: int, file: Path) -> list[str]:
    words = output.decode(errors="replace").splitlines()
    if len(words) != count or not all(_WORD.fullmatch(word) for word in words):
        raise InputError(f"{file} does not say in plain words what it is")
    return words


def _component_of(name: str, file: Path) -> str:
    if name not in NAMES:
        expected = " or ".join(NAMES)
        raise InputError(
            f"{file} is the package {name}, expected {expected}",
            hint="fairlead hotfix build makes a package that lies beside the agent of the image",
        )
    return NAMES[name]


def _version_of(told: str, component: str, file: Path) -> str:
    found = _VERSION.fullmatch(told)
    version = found[1] if found else ""
    if not is_version(version) or (component == OUR_COMPONENT and version != told):
        raise InputError(f"{file} has the version {told}, expected YYYYMM.DD.PATCH")
    return version


def _refuse_scripts(found: set[str], file: Path) -> None:
    if found:
        raise InputError(
            f"{file} brings {', '.join(sorted(found))}: a fix runs nothing when it is unpacked",
            hint="fairlead hotfix build",
        )


def _refuse_outside(entries: Iterable[tuple[str, str]], version: str, file: Path) -> None:
    """Refuse what is no plain file or directory of this version's own directory."""
    home = f"/{PREFIX}/{version}"
    for kind, path in entries:
        is_above = kind == "d" and (path == "/" or f"{home}/".startswith(f"{path}/"))
        is_inside = kind in ("d", "-") and path.startswith(f"{home}/") and ".." not in path
        if not is_above and not is_inside:
            raise InputError(
                f"{file} brings {path}, expected plain files below {home}",
                hint="fairlead hotfix build",
            )
