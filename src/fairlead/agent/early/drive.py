"""
Read one file of a drive that a cloud attached, without changing anything on this machine.

ISO 9660, FAT and UDF are read here, in this process: nothing is mounted, and no other is started.
"""

from __future__ import annotations

import os

from fairlead.agent.early.fat import find_file_in_fat
from fairlead.agent.early.iso9660 import find_file_in_iso
from fairlead.agent.early.udf import find_file_in_udf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.agent.host import Host

    # Takes the descriptor of the open drive.
    IsFit = Callable[[int], bool]


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

        for find in (find_file_in_iso, find_file_in_fat, find_file_in_udf):
            content = find(read_at, path)
            if content is not None:
                return content
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _read_at(descriptor: int, offset: int, length: int) -> bytes:
    parts = []
    while length > 0 and (part := os.pread(descriptor, length, offset)):
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return b"".join(parts)
