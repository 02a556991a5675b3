"""
Read one file of a FAT file system: the other thing that seeds come on.

Names are compared without regard to case, as FAT does. Long names are put together from the
entries in front of the short one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    ReadAt = Callable[[int, int], bytes]

ENTRY = 32
DELETED, END = 0xE5, 0x00
LONG_NAME, VOLUME_LABEL, DIRECTORY = 0x0F, 0x08, 0x10
LAST_LONG = 0x40

# By the number of clusters, as the format defines it.
FEWEST_CLUSTERS_16 = 4085
FEWEST_CLUSTERS_32 = 65525

# Of a directory with eight thousand names, and as host.py has it for files.
LARGEST_DIRECTORY = 256 << 10
LARGEST_FILE = 16 << 20


class _Volume:
    """Where things are: all in bytes but `clusters` and the numbers of clusters."""

    __slots__ = (
        "bits",
        "cluster",
        "data_at",
        "fat_at",
        "read_at",
        "root",
        "root_at",
        "root_length",
    )

    def __init__(self, read_at: ReadAt, boot: bytes) -> None:
        def number(at: int, length: int) -> int:
            return int.from_bytes(boot[at : at + length], "little")

        sector = number(11, 2)
        self.read_at = read_at
        self.cluster = sector * boot[13]
        fat_length = (number(22, 2) or number(36, 4)) * sector
        self.fat_at = number(14, 2) * sector
        self.root_at = self.fat_at + boot[16] * fat_length
        self.root_length = number(17, 2) * ENTRY
        self.data_at = self.root_at + -(-self.root_length // sector) * sector
        total = (number(19, 2) or number(32, 4)) * sector
        clusters = (total - self.data_at) // self.cluster
        self.bits = 32 if clusters >= FEWEST_CLUSTERS_32 else 16
        self.bits = 12 if clusters < FEWEST_CLUSTERS_16 else self.bits
        self.root = number(44, 4) if self.bits == 32 else 0  # noqa: PLR2004 - FAT32

    def chain(self, cluster: int, length: int) -> bytes:
        """Return the content of a chain of clusters, at most `length` bytes."""
        parts: list[bytes] = []
        have = 0
        last = (1 << min(self.bits, 28)) - 9  # the marks for "bad" and "end" lie above
        while 2 <= cluster < last and have < length:  # noqa: PLR2004 - the first data cluster
            parts.append(self.read_at(self.data_at + (cluster - 2) * self.cluster, self.cluster))
            have += self.cluster
            cluster = self._next(cluster)
        return b"".join(parts)[:length]

    def _next(self, cluster: int) -> int:
        if self.bits == 12:  # noqa: PLR2004 - FAT12: three half bytes per entry
            pair = self._number(cluster * 3 // 2, 2)
            return pair >> 4 if cluster & 1 else pair & 0xFFF
        width = self.bits // 8
        return self._number(cluster * width, width) & 0x0FFFFFFF

    def _number(self, at: int, length: int) -> int:
        # Entry by entry: how long the whole table is says the drive.
        return int.from_bytes(self.read_at(self.fat_at + at, length), "little")


def find_file_in_fat(read_at: ReadAt, path: str) -> bytes | None:
    """Return a file's content; None if this is no FAT file system, or has no such file."""
    boot = read_at(0, 512)
    if not _is_fat(boot):
        return None
    volume = _Volume(read_at, boot)
    if volume.root:
        content = volume.chain(volume.root, LARGEST_DIRECTORY)
    else:
        content = read_at(volume.root_at, volume.root_length)
    *parents, last = path.lower().split("/")
    for name in parents:
        found = _find(content, name)
        if found is None or not found[0] & DIRECTORY:
            return None
        content = volume.chain(found[1], LARGEST_DIRECTORY)
    found = _find(content, last)
    if found is None or found[0] & DIRECTORY or found[2] > LARGEST_FILE:
        return None
    return volume.chain(found[1], found[2])


def _is_fat(boot: bytes) -> bool:
    """Say whether this is a boot sector: a power of two in each size, and the two last bytes."""
    if len(boot) < 512 or boot[510:512] != b"\x55\xaa":  # noqa: PLR2004 - one sector
        return False
    sector = int.from_bytes(boot[11:13], "little")
    per_cluster = boot[13]
    has_sizes = sector in (512, 1024, 2048, 4096) and per_cluster in (1, 2, 4, 8, 16, 32, 64, 128)
    return has_sizes and boot[16] in (1, 2)


def _find(content: bytes, name: str) -> tuple[int, int, int] | None:
    """Return attributes, first cluster and length of an entry."""
    return next((entry for found, entry in _entries(content) if found.lower() == name), None)


def _entries(content: bytes) -> Iterator[tuple[str, tuple[int, int, int]]]:
    long_name = ""
    for at in range(0, len(content) - ENTRY + 1, ENTRY):
        raw = content[at : at + ENTRY]
        if raw[0] == END:
            return
        if raw[0] == DELETED:
            long_name = ""
        elif raw[11] == LONG_NAME:
            piece = (raw[1:11] + raw[14:26] + raw[28:32]).decode("utf-16-le", "replace")
            kept = "" if raw[0] & LAST_LONG else long_name
            long_name = piece.partition("\0")[0] + kept
        else:
            if not raw[11] & VOLUME_LABEL:
                yield long_name or _short_name(raw), _place_of(raw)
            long_name = ""


def _short_name(raw: bytes) -> str:
    stem, extension = raw[:8].rstrip(b" "), raw[8:11].rstrip(b" ")
    return (stem + (b"." + extension if extension else b"")).decode("latin-1")


def _place_of(raw: bytes) -> tuple[int, int, int]:
    cluster = raw[26:28] + raw[20:22]
    return raw[11], int.from_bytes(cluster, "little"), int.from_bytes(raw[28:32], "little")
