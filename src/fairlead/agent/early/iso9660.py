"""
Read one file of an ISO 9660 image: what most clouds and tools put seeds on.

Reading it here takes no mount, no kernel module and no second process. Names are Joliet's where
the image has them, else Rock Ridge's: plain ISO 9660 cannot spell `user-data`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # Bytes at an offset; fewer where the device ends.
    ReadAt = Callable[[int, int], bytes]

SECTOR = 2048
FIRST_DESCRIPTOR = 16
# Real images have three or four; the loop must end on a damaged one.
MOST_DESCRIPTORS = 32
PRIMARY, SUPPLEMENTARY, LAST = 1, 2, 255
JOLIET_ESCAPES = (b"%/@", b"%/C", b"%/E")

IS_DIRECTORY = 2
NAME_CONTINUES = 1
SHORTEST_RECORD = 34

# Of a directory with eight thousand names, and as host.py has it for files.
LARGEST_DIRECTORY = 256 << 10
LARGEST_FILE = 16 << 20


class _Entry:
    """One name in a directory. `at` and `length` are bytes on the device."""

    __slots__ = ("at", "is_directory", "length", "name")

    def __init__(self, record: bytes, *, is_joliet: bool) -> None:
        self.at = int.from_bytes(record[2:6], "little") * SECTOR
        self.length = int.from_bytes(record[10:14], "little")
        self.is_directory = bool(record[25] & IS_DIRECTORY)
        raw = record[33 : 33 + record[32]]
        if is_joliet:
            self.name = raw.decode("utf-16-be", "replace").partition(";")[0]
        else:
            # The system use area begins at an even offset.
            area = record[33 + record[32] + (record[32] + 1) % 2 :]
            self.name = _rock_ridge_name(area) or raw.decode("latin-1").partition(";")[0]


def find_file_in_iso(read_at: ReadAt, path: str) -> bytes | None:
    """Return a file's content; None if this is no ISO 9660 image, or has no such file."""
    for root, is_joliet in _roots(read_at):
        entry: _Entry | None = _Entry(root, is_joliet=is_joliet)
        for name in path.split("/"):
            entry = None if entry is None else _child(read_at, entry, name, is_joliet=is_joliet)
        if entry is not None and not entry.is_directory and entry.length <= LARGEST_FILE:
            return read_at(entry.at, entry.length)
    return None


def _roots(read_at: ReadAt) -> list[tuple[bytes, bool]]:
    """Return the root directory records, Joliet's first."""
    roots = []
    for number in range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + MOST_DESCRIPTORS):
        descriptor = read_at(number * SECTOR, SECTOR)
        if len(descriptor) < SECTOR or descriptor[1:6] != b"CD001" or descriptor[0] == LAST:
            break
        is_joliet = descriptor[0] == SUPPLEMENTARY and descriptor[88:91] in JOLIET_ESCAPES
        if is_joliet or descriptor[0] == PRIMARY:
            roots.append((descriptor[156:190], is_joliet))
    # One of each kind: no image has more, and each costs a search.
    kinds = {is_joliet: (root, is_joliet) for root, is_joliet in reversed(roots)}
    return [kinds[is_joliet] for is_joliet in (True, False) if is_joliet in kinds]


def _child(read_at: ReadAt, parent: _Entry, name: str, *, is_joliet: bool) -> _Entry | None:
    if not parent.is_directory:
        return None
    content = read_at(parent.at, min(parent.length, LARGEST_DIRECTORY))
    for record in _records(content):
        entry = _Entry(record, is_joliet=is_joliet)
        if entry.name == name:
            return entry
    return None


def _records(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        length = content[at]
        if length == 0:
            at = (at // SECTOR + 1) * SECTOR  # A record never crosses a sector.
            continue
        record = content[at : at + length]
        at += length
        if len(record) >= SHORTEST_RECORD:
            yield record


def _rock_ridge_name(area: bytes) -> str:
    """Return the name in the NM entries; '' if there are none."""
    name = b""
    while len(area) >= 5 and area[2] >= 4:  # noqa: PLR2004 - signature, length, version, flags
        if area[:2] == b"NM":
            name += area[5 : area[2]]
            if not area[4] & NAME_CONTINUES:
                break
        area = area[area[2] :]
    return name.decode("utf-8", "replace")
