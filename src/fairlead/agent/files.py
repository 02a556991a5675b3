"""
Files that appear whole or not at all.

Every write goes to a temporary neighbour, is synced, and takes its name in one rename or link.
The temporary name is fixed per target, so that a crash leaves at most one leftover and the
next run replaces it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host


def directory_of(path: str) -> str:
    """Return the path of the directory that holds this path."""
    return path.rpartition("/")[0] or "/"


def write_atomically(host: Host, path: str, content: bytes, mode: int) -> None:
    """Put this content at the path with this mode; a reader or a crash never sees a part of it."""
    temporary = _write_beside(host, path, content, mode)
    host.rename(temporary, path)
    host.sync_directory(directory_of(path))


def publish_if_absent(host: Host, path: str, content: bytes, mode: int) -> bool:
    """Like write_atomically, but never replaces: return False if the path was there already."""
    temporary = _write_beside(host, path, content, mode)
    try:
        host.create_link(temporary, path)
    except FileExistsError:
        return False
    finally:
        host.remove(temporary)
    host.sync_directory(directory_of(path))
    return True


def remove_if_present(host: Host, path: str) -> bool:
    """Make the path absent, durably; return whether it was there."""
    try:
        host.remove(path)
    except FileNotFoundError:
        return False
    host.sync_directory(directory_of(path))
    return True


def find_file(host: Host, path: str) -> bytes | None:
    """Return the file's content, or None if there is no such file."""
    if not path:
        return None
    try:
        return host.read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write_beside(host: Host, path: str, content: bytes, mode: int) -> str:
    directory, _, name = path.rpartition("/")
    host.make_directory(directory or "/")
    temporary = f"{directory}/.{name}.fairlead-tmp"
    host.write_file(temporary, content, mode, sync=True)
    return temporary
