"""A watch on one directory, by way of the C library: the standard library has no inotify."""

from __future__ import annotations

import ctypes
import os
import select

# From <sys/inotify.h>: a name appeared, by creation, by rename, or by its file being closed.
IN_CREATE = 0x100
IN_MOVED_TO = 0x80
IN_ATTRIB = 0x04
IN_NONBLOCK = 0o4000
IN_CLOEXEC = 0o2000000

# A mount over the directory makes the watch deaf, so it is never trusted for longer than this.
LONGEST_SILENCE_S = 1.0


class Watch:
    """Wakes up when something appears in the directory."""

    __slots__ = ("_poll", "descriptor")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def wait(self, limit_s: float | None) -> None:
        """Return when something happened, or after the limit; the caller looks for itself."""
        limit_s = LONGEST_SILENCE_S if limit_s is None else min(limit_s, LONGEST_SILENCE_S)
        if self._poll.poll(limit_s * 1000):
            os.read(self.descriptor, 65536)


def open_watch(directory: str) -> Watch | None:
    """Return a watch, or None where this system or file system has none to give."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        descriptor = library.inotify_init1(IN_NONBLOCK | IN_CLOEXEC)
    except (OSError, AttributeError):
        return None
    if descriptor < 0:
        return None
    name = os.fsencode(directory)
    if library.inotify_add_watch(descriptor, name, IN_CREATE | IN_MOVED_TO | IN_ATTRIB) < 0:
        os.close(descriptor)
        return None
    return Watch(descriptor)
