"""Instants as text, in UTC. `time` only: `datetime` costs a start-up import."""

from __future__ import annotations

import time

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


def event_time(ns: int) -> str:
    """Return `YYYY-MM-DD HH:MM:SS.mmm`, as guest events write it."""
    seconds, rest = divmod(ns, NS_PER_S)
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) + f".{rest // NS_PER_MS:03d}"


def log_time(ns: int) -> str:
    """Return RFC 3339 with milliseconds."""
    return event_time(ns).replace(" ", "T") + "Z"


def status_time(ns: int) -> str:
    """Return `Tue 2024-11-12 17:23:33 UTC`, as systemd and provision.json write it."""
    return time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(ns // NS_PER_S))


def date_time(ns: int) -> str:
    """Return `Tue Nov 12 17:23:33 UTC 2024`, as `date` prints it, which AKS scripts use for CSE."""
    return time.strftime("%a %b %e %H:%M:%S UTC %Y", time.gmtime(ns // NS_PER_S))


def milliseconds(ns: int) -> float:
    """Return milliseconds with one decimal."""
    return round(ns / NS_PER_MS, 1)
