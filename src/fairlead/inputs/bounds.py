"""
How much an owner may ask for. Whoever asks for more is refused, with what was found and allowed.

A calendar ends in the year 9999 and memory ends sooner: a value beyond these would stop whatever
computes with it. What is in force from before there were bounds is read as the bound.
"""

from datetime import UTC, datetime

DAY_S = 86400

# Seconds. A year and a day: longer than anybody waits for a machine, or holds a change.
LONGEST_S = 366 * DAY_S

# A window opens weekly, so one that is longer never closes.
LONGEST_WINDOW_S = 7 * DAY_S

# A pause until later than this is one without an end; a day before the calendar's own last year,
# so that any zone can name it.
LATEST = datetime(9998, 12, 31, tzinfo=UTC)

# Machines of one pool on any edge: as many as `make bench` measures in one pool of the embedded
# edge. Twice as many on their way in a rollout still fit into the memory of a plan. An edge that
# holds fewer says so (Capacity).
MOST_MACHINES = 20_000

# Bytes of what a machine can be served in all: an agent reads no more (agent/https_fetch.py).
LARGEST_SERVED = 4 << 20

# Bytes of that for what a machine joins with: a server's name, a token, and some ten certificates.
JOIN_ROOM = 32 << 10

# Bytes of what an owner configures. Labels, secrets and what the platform adds are served with it.
LARGEST_CONFIG = 3 << 20

# Bytes of all else in a pool's document. Labels and taints are in what a machine fetches, too, and
# every pass reads all of it.
LARGEST_REST = 256 << 10

# Bytes of what the platform adds to every one of them.
LARGEST_PLATFORM = 512 << 10


def read_moment(text: str) -> datetime | None:
    """Return the moment, or None if it is later than anybody can compute with."""
    moment = datetime.fromisoformat(text)
    return None if moment.replace(tzinfo=UTC) > LATEST else moment


def duration_text(seconds: int) -> str:
    """Return seconds as an owner would write them: in the largest unit that leaves no rest."""
    for unit, size in (("d", DAY_S), ("h", 3600), ("m", 60)):
        if seconds and not seconds % size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
