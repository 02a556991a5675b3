"""
Write the script files that a fix brings: each whole, none through a link, all or none understood.

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
    Raises InputError before anything is written, if any of it is not understood.
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
    try:
        return sum(_write(root, file, only_replaces=only_replaces) for file in files)
    finally:
        os.close(root)


def _write(root: int, file: ScriptFile, *, only_replaces: bool) -> bool:
    """Write one file below the open root; return whether it was written."""
    *parents, name = file.path.strip("/").split("/")
    directory = _open_directory(root, parents, makes=not only_replaces)
    if directory is None:
        return False
    try:
        is_there, is_same = _compare(directory, name, file)
        if is_same or (only_replaces and not is_there):
            return False
        _put(directory, name, file)
    finally:
        os.close(directory)
    return True


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


def _put(directory: int, name: str, file: ScriptFile) -> None:
    temporary = f".{name}.fairlead-tmp"
    if temporary in os.listdir(directory):
        os.unlink(temporary, dir_fd=directory)
    written = os.open(temporary, _CREATE, 0o600, dir_fd=directory)
    try:
        rest = memoryview(file.content)
        while rest:
            rest = rest[os.write(written, rest) :]
        os.fchmod(written, file.mode)
        os.fsync(written)
    finally:
        os.close(written)
    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    os.fsync(directory)
