"""
Read one file of a drive that a cloud attached, without changing anything on this machine.

ISO 9660 and FAT are read here. UDF, which Azure's provisioning media may carry alone, needs the
kernel: it is mounted in a namespace of its own that ends with the process, whatever ends it.
"""

from __future__ import annotations

import os

from fairlead.agent.early.fat import find_file_in_fat
from fairlead.agent.early.iso9660 import find_file_in_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.agent.host import Host

    # Takes the descriptor of the open drive.
    IsFit = Callable[[int], bool]

MOUNT_AND_READ = (
    "exec 2>/dev/null; mkdir -p /run/fairlead/drive && "
    'mount -t udf -o ro,nosuid,nodev,noexec "$1" /run/fairlead/drive && '
    'exec cat "/run/fairlead/drive/$2"'
)
# A drive that does not answer must not hold up the boot.
MOUNT_DEADLINE_S = 5.0

# The volume recognition of UDF: one of these, in the sectors after the ISO descriptors' place.
UDF_MARKS = (b"NSR02", b"NSR03")
UDF_PLACE = (16 * 2048, 16 * 2048)


def find_file_on_drive(host: Host, device: str, path: str, is_fit: IsFit) -> bytes | None:
    """
    Return a file's content; None if there is no drive, no medium, or no such file on it.

    Nothing is read of a drive that is not fit.
    """
    try:
        descriptor = os.open(host.real_path(device), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None  # An empty drive says ENOMEDIUM.
    try:
        if not is_fit(descriptor):
            return None

        def read_at(offset: int, length: int) -> bytes:
            return _read_at(descriptor, offset, length)

        for find in (find_file_in_iso, find_file_in_fat):
            content = find(read_at, path)
            if content is not None:
                return content
        recognition = read_at(*UDF_PLACE)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    is_udf = any(mark in recognition for mark in UDF_MARKS)
    return _read_mounted(host, device, path) if is_udf else None


def _read_at(descriptor: int, offset: int, length: int) -> bytes:
    parts = []
    while length > 0 and (part := os.pread(descriptor, length, offset)):
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return b"".join(parts)


def _read_mounted(host: Host, device: str, path: str) -> bytes | None:
    parts: list[bytes] = []
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT_AND_READ]
    try:
        finished = host.run(
            [*command, "read-drive", device, path],
            deadline_s=MOUNT_DEADLINE_S,
            on_output=parts.append,
        )
    except OSError:
        return None
    return b"".join(parts) if finished.exit_code == 0 and parts else None
