"""
Every value that we fill in where an owner wrote nothing: one table, and no other place.

Nothing of it is intent: a release that changes a row here replaces no machine. A row that can
reach a machine is an input of the platform's half (REACHING), so that its change is held and
shown; the others say how, when and how many, which is in no hash.
"""

import re

from fairlead.inputs.leaf import Json

_SHORT_NUMBER = re.compile(r"[0-9]{1,9}")

# By the path of what was not written. Durations are seconds.
DEFAULTS: dict[str, Json] = {
    "config.files[].mode": "0644",
    "replicas": 0,
    "autoscaling.min": 0,
    "autoscaling.max": 0,
    "timeouts.drain": 0,
    "timeouts.detach": 0,
    "timeouts.join": 20 * 60,
    "timeouts.ready": 8 * 60,
    "autoRepair": False,
    # Above this many unhealthy machines the cause is not the machines.
    "maxUnhealthy": 2,
    "management.type": "Replace",
    "management.strategy": "RollingUpdate",
    "management.maxSurge": 1,
    "management.maxUnavailable": 0,
    # A pool that changes in place has no surge to move with.
    "management.maxUnavailable[InPlace]": 1,
    "rollout.windows[].days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    "rollout.windows[].zone": "UTC",
    "rollout.soak": 0,
    "rollout.haltAfter": 2,
    "rollout.estimate": 10 * 60,
    "platformChanges.newNodes": "Hold",
    "secretContent": "Ignore",
    # The stream of a version: each row holds from its version on.
    "osStream": [[[0, 0], "ubuntu-22.04"], [[1, 34], "ubuntu-24.04"]],
}

# row: its name among the defaults of our own code, platform.code.NAME
REACHING = {"config.files[].mode": "fileMode"}


def default_os_stream(version: str, rows: Json = None) -> str:
    """Return the published default stream of a Kubernetes version. rows: another table's."""
    numbers = version.removeprefix("v").split(".")[:2]
    is_number = _SHORT_NUMBER.fullmatch
    key = [int(number) if is_number(number) else 0 for number in numbers]
    table = DEFAULTS["osStream"] if rows is None else rows
    assert isinstance(table, list)  # noqa: S101 - the table above
    return str([stream for since, stream in table if since <= key or since == [0, 0]][-1])
