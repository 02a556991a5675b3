"""
Read one file of a UDF file system: what Azure's provisioning media may carry alone.

Mounting it would need every right that this process is better without, and hand the bytes of a
drive to the kernel. Discs of UDF 1.02 to 2.01 are read, as cloud tools and Windows make them; one
with a partition of a newer kind is left to cloud-init.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    ReadAt = Callable[[int, int], bytes]

SECTOR = 2048
ANCHOR_SECTOR = 256

# What a descriptor is, in its first two bytes.
ANCHOR, PARTITION, VOLUME, END, FILE_SET, NAME, FILE, LARGE_FILE = 2, 5, 6, 8, 256, 257, 261, 266

SHORTEST_DESCRIPTOR = 40  # that of a name with one letter

# Real discs have six or so; the loop must end on a damaged one.
MOST_DESCRIPTORS = 32
# A plain partition, and how long its row is.
PLAIN_PARTITION = b"\x01\x06"

IS_DIRECTORY, IS_DELETED, IS_PARENT = 2, 4, 8
DIRECTORY_TYPE, FILE_TYPE = 4, 5
SHORT, LONG, INSIDE = 0, 1, 3  # how a file says where its bytes are
LENGTH_BITS = (1 << 30) - 1  # the others say that nothing was recorded there

# Of a directory with some thousand names, and as host.py has it for files.
LARGEST_DIRECTORY = 256 << 10
LARGEST_FILE = 16 << 20
# A file of the largest size in pieces of one sector.
MOST_PIECES = LARGEST_FILE // SECTOR


class _Disc:
    """Where the partition begins, in sectors, and the place of the root directory in it."""

    __slots__ = ("first", "read_at", "root")

    def __init__(self, read_at: ReadAt, first: int, root: int) -> None:
        self.read_at = read_at
        self.first = first
        self.root = root

    def sector(self, number: int) -> bytes:
        """Return one sector of the partition."""
        return self.read_at((self.first + number) * SECTOR, SECTOR)

    def content(self, entry: bytes, kind: int, largest: int) -> bytes | None:
        """Return what a file or directory holds; None if it is of another kind, or larger."""
        if _tag(entry) not in (FILE, LARGE_FILE) or entry[27] != kind:
            return None
        length = _number(entry, 56, 8)
        at = 168 if _tag(entry) == FILE else 208
        start = at + 8 + _number(entry, at, 4)
        places = entry[start : start + _number(entry, at + 4, 4)]
        if length > largest:
            return None
        how = entry[34] & 7
        found = places if how == INSIDE else b"".join(self._pieces(places, how, length))
        return found[:length] if len(found) >= length else None

    def _pieces(self, places: bytes, how: int, length: int) -> Iterator[bytes]:
        step = {SHORT: 8, LONG: 16}.get(how, len(places) + 1)
        for at in range(0, len(places) - step + 1, step)[:MOST_PIECES]:
            size = min(_number(places, at, 4) & LENGTH_BITS, length)
            yield self.read_at((self.first + _number(places, at + 4, 4)) * SECTOR, size)
            length -= size


def find_file_in_udf(read_at: ReadAt, path: str) -> bytes | None:
    """Return a file's content; None if this is no UDF file system, or has no such file."""
    disc = _disc(read_at)
    if disc is None:
        return None
    entry = disc.sector(disc.root)
    for name in path.split("/"):
        directory = disc.content(entry, DIRECTORY_TYPE, LARGEST_DIRECTORY)
        place = None if directory is None else _place_of(directory, name)
        if place is None:
            return None
        entry = disc.sector(place)
    return disc.content(entry, FILE_TYPE, LARGEST_FILE)


def _disc(read_at: ReadAt) -> _Disc | None:
    anchor = read_at(ANCHOR_SECTOR * SECTOR, SECTOR)
    if _tag(anchor) != ANCHOR:
        return None
    first, file_set = -1, -1
    for number in range(min(_number(anchor, 16, 4) // SECTOR, MOST_DESCRIPTORS)):
        descriptor = read_at((_number(anchor, 20, 4) + number) * SECTOR, SECTOR)
        if _tag(descriptor) == PARTITION:
            first = _number(descriptor, 188, 4)
        elif _tag(descriptor) == VOLUME:
            is_plain = _number(descriptor, 268, 4) == 1 and descriptor[440:442] == PLAIN_PARTITION
            is_plain = is_plain and _number(descriptor, 212, 4) == SECTOR
            file_set = _number(descriptor, 252, 4) if is_plain else -1
        elif _tag(descriptor) == END:
            break
    if first < 0 or file_set < 0:
        return None
    found = read_at((first + file_set) * SECTOR, SECTOR)
    return _Disc(read_at, first, _number(found, 404, 4)) if _tag(found) == FILE_SET else None


def _place_of(directory: bytes, name: str) -> int | None:
    """Return in which sector of the partition the entry of this name is described."""
    at = 0
    while _tag(directory[at : at + SECTOR]) == NAME and at + 38 <= len(directory):
        length, more = directory[at + 19], _number(directory, at + 36, 2)
        raw = directory[at + 38 + more : at + 38 + more + length]
        # The first byte says how the others are written: 8 or 16 bits each.
        spelling = "utf-16-be" if raw[:1] == b"\x10" else "latin-1"
        is_other = directory[at + 18] & (IS_DELETED | IS_PARENT)
        if not is_other and raw[1:].decode(spelling, "replace") == name:
            return _number(directory, at + 24, 4)
        at += (38 + more + length + 3) // 4 * 4
    return None


def _tag(descriptor: bytes) -> int:
    return _number(descriptor, 0, 2) if len(descriptor) >= SHORTEST_DESCRIPTOR else 0


def _number(text: bytes, at: int, length: int) -> int:
    return int.from_bytes(text[at : at + length], "little")
