"""
Write the script files that a fix brings: each whole, none through a link, all of them or none.

They come by custom data (nodecustomdata.yml, gated by `scripts_version`), or inside the package of
a fix of ours: one document for each distribution, else one for all.
"""

from __future__ import annotations

import posix as os

from fairlead.agent.host import REGULAR, is_regular_file
from fairlead.agent.hotfix.image_files import PREFIX
from fairlead.agent.hotfix.os_release import find_systems
from fairlead.agent.hotfix.script_text import parse_script_files
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.hotfix.script_text import ScriptFile

NODE_CUSTOM_DATA = "/opt/azure/containers/nodecustomdata.yml"

# In the package of a fix: one for all, and below SCRIPTS one for each distribution.
DOCUMENT = "nodecustomdata.yml"
SCRIPTS = "scripts"

# Where distributions merged /usr, these are links by design: what they name is meant.
MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")

# The file types in st_mode.
KIND = 0o170000
LINK = 0o120000

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def files_of_fix(host: Host, version: str) -> str:
    """
    Return the document of script files in the package of a fix of ours, or ''.

    That of ID and VERSION_ID of /etc/os-release, that of ID, or the one for all.
    """
    directory = f"{PREFIX}/{version}"
    places = [f"{directory}/{SCRIPTS}/{name}/{DOCUMENT}" for name in find_systems(host)]
    places.append(f"{directory}/{DOCUMENT}")
    return next((path for path in places if is_regular_file(host, path)), "")


def write_script_files(host: Host, path: str, *, only_replaces: bool = False) -> int:
    """
    Write every file of a document that differs from what is there; return how many were written.

    only_replaces: a file that is not there is not made, as for scripts in a package upstream.
    Nothing is replaced before all of it is on the disk: what does not fit, or is not understood,
    raises OSError or InputError and leaves every file as it was.
    """
    try:
        document = host.read_file(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there") from error
    try:
        files = parse_script_files(document)
    except InputError as error:
        raise InputError(f"{path} is refused whole: {error}") from error
    root = os.open(host.real_path("/"), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    prepared: list[_Prepared] = []
    try:
        for file in files:
            _prepare(root, file, prepared, only_replaces=only_replaces)
        return sum(one.put_in_place() for one in prepared)
    finally:
        for one in prepared:
            one.close()
        os.close(root)


class _Prepared:
    """The place of one file, and what lies beside it until it takes that place."""

    __slots__ = ("_is_beside", "directory", "name", "temporary")

    def __init__(self, directory: int, name: str) -> None:
        self.directory = directory
        self.name = name
        self.temporary = f".{name}.fairlead-tmp"
        self._is_beside = False

    def is_place_of(self, other: _Prepared) -> bool:
        """Say whether both are one file, whichever paths led there."""
        ours, theirs = os.fstat(self.directory), os.fstat(other.directory)
        is_same_directory = (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
        return self.name == other.name and is_same_directory

    def write(self, file: ScriptFile) -> None:
        if self.temporary in os.listdir(self.directory):
            os.unlink(self.temporary, dir_fd=self.directory)
        written = os.open(self.temporary, _CREATE, 0o600, dir_fd=self.directory)
        self._is_beside = True
        try:
            rest = memoryview(file.content)
            while rest:
                rest = rest[os.write(written, rest) :]
            os.fchmod(written, file.mode)
            os.fsync(written)
        finally:
            os.close(written)

    def put_in_place(self) -> bool:
        """Return whether there was anything to put there."""
        if not self._is_beside:
            return False
        os.rename(self.temporary, self.name, src_dir_fd=self.directory, dst_dir_fd=self.directory)
        self._is_beside = False
        os.fsync(self.directory)
        return True

    def close(self) -> None:
        """Leave nothing beside its place."""
        try:
            if self._is_beside:
                os.unlink(self.temporary, dir_fd=self.directory)
        except OSError:
            pass  # the next attempt removes it
        os.close(self.directory)


def _prepare(
    root: int, file: ScriptFile, prepared: list[_Prepared], *, only_replaces: bool
) -> None:
    """Write one file below the open root beside its place, if it has to be written."""
    *parents, name = file.path.strip("/").split("/")
    directory = _open_directory(root, parents, makes=not only_replaces)
    if directory is None:
        return
    one = _Prepared(directory, name)
    prepared.append(one)
    if any(one.is_place_of(other) for other in prepared[:-1]):
        raise InputError(f"{file.path} is there twice, by two paths")
    is_there, is_same = _compare(directory, name, file)
    if not is_same and (is_there or not only_replaces):
        one.write(file)


def _open_directory(root: int, parents: list[str], *, makes: bool) -> int | None:
    """Return the open directory, no link on the way to it followed; None if it is not there."""
    directory = os.dup(root)
    for depth, name in enumerate(parents):
        try:
            if depth == 0 and name in MERGED and _is_link(directory, name):
                below = _open_directory(directory, ["usr", name], makes=False)
            else:
                below = _open_part(directory, name, makes=makes)
        except OSError as error:
            raise InputError(f"/{'/'.join(parents[: depth + 1])}: no directory: {error}") from error
        finally:
            os.close(directory)
        if below is None:
            return None
        directory = below
    return directory


def _open_part(directory: int, name: str, *, makes: bool) -> int | None:
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not makes:
            return None
    os.mkdir(name, 0o755, dir_fd=directory)
    return os.open(name, _DIRECTORY, dir_fd=directory)


def _is_link(directory: int, name: str) -> bool:
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return False
    return mode & KIND == LINK


def _compare(directory: int, name: str, file: ScriptFile) -> tuple[bool, bool]:
    """Return whether something is there, and whether it is what is wanted."""
    try:
        found = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory
        )
    except FileNotFoundError:
        return False, False
    except OSError as error:
        raise InputError(f"{file.path}: in its place is no plain file: {error}") from error
    try:
        status = os.fstat(found)
        if status.st_mode & KIND != REGULAR:
            raise InputError(f"{file.path}: in its place is no plain file")
        is_alike = status.st_size == len(file.content) and status.st_mode & 0o7777 == file.mode
        return True, is_alike and os.read(found, status.st_size + 1) == file.content
    finally:
        os.close(found)
