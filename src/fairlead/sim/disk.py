"""
A disk that forgets what was not synced, as journaling file systems may.

Names (creations, renames, links, removals) become durable in the order they happened; syncing a
directory makes all names up to then durable. A file's bytes become durable when it is synced.
What a power cut keeps beyond that is drawn from a seeded source: a prefix of the later name
changes, and of each file's later bytes a prefix, sometimes with zeros where data was lost.
"""

import random
import stat

ROOT = "/"


class Inode:
    """One file or directory: what programs see, and what the platter has."""

    __slots__ = ("content", "mode", "synced")

    def __init__(self, mode: int, content: bytes = b"") -> None:
        self.mode = mode
        self.content = content
        self.synced = b""

    @property
    def is_directory(self) -> bool:
        """Say whether this is a directory."""
        return stat.S_ISDIR(self.mode)


class Disk:
    """Names to inodes, twice: as seen, and as durable."""

    def __init__(self) -> None:
        self.names: dict[str, Inode] = {ROOT: Inode(stat.S_IFDIR | 0o755)}
        self._durable: dict[str, Inode] = dict(self.names)
        # Changes of names that are not durable yet: (path, inode, or None for a removal).
        self._pending: list[tuple[str, Inode | None]] = []

    def find(self, path: str) -> Inode | None:
        """Return what the path names, or None."""
        return self.names.get(path)

    def read(self, path: str) -> Inode:
        """Return the file at this path, or raise as the kernel would."""
        inode = self.names.get(path)
        if inode is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if inode.is_directory:
            raise IsADirectoryError(21, "Is a directory", path)
        return inode

    def bind(self, path: str, inode: Inode | None) -> None:
        """Give the path a new meaning, or none."""
        if inode is None:
            self.names.pop(path, None)
        else:
            self._need_parent(path)
            self.names[path] = inode
        self._pending.append((path, inode))

    def sync_names(self) -> None:
        """Make every change of names so far durable."""
        for path, inode in self._pending:
            _apply(self._durable, path, inode)
        self._pending.clear()

    def cut_power(self, source: random.Random) -> None:
        """Lose what was not synced, as far as the source decides."""
        kept = source.randint(0, len(self._pending))
        for path, inode in self._pending[:kept]:
            _apply(self._durable, path, inode)
        self._pending.clear()
        self.names = dict(self._durable)
        for inode in {id(inode): inode for inode in self.names.values()}.values():
            if not inode.is_directory:
                inode.content = _after_cut(inode, source)
                inode.synced = inode.content

    def _need_parent(self, path: str) -> None:
        parent = path.rpartition("/")[0] or ROOT
        inode = self.names.get(parent)
        if inode is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if not inode.is_directory:
            raise NotADirectoryError(20, "Not a directory", path)


def _apply(names: dict[str, Inode], path: str, inode: Inode | None) -> None:
    if inode is None:
        names.pop(path, None)
    else:
        names[path] = inode


def _after_cut(inode: Inode, source: random.Random) -> bytes:
    if inode.content == inode.synced:
        return inode.synced
    if not inode.content.startswith(inode.synced):
        # Truncated and rewritten without a sync: the old bytes, or any part of the new ones.
        return source.choice([inode.synced, inode.content[: source.randint(0, len(inode.content))]])
    kept = source.randint(len(inode.synced), len(inode.content))
    lost = len(inode.content) - kept if source.random() < 0.3 else 0  # noqa: PLR2004 - a coin
    return inode.content[:kept] + bytes(lost)
