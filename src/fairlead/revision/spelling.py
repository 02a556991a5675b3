"""
One meaning, several spellings: what of a stored revision is said in other words than today.

Intent is what the owner wrote, so a file with mode 0644 and one without a mode are two spellings,
and while 0644 is the default both mean the same. Who writes a default out, or leaves it out again,
changes nothing on a machine: the stored revision is told in the owner's words of today.

Raise SPELLING whenever a release spells equal documents in other leaves, and keep here how it
was: then revisions of the release before are told in today's words as well, and nothing rolls.
"""

from collections.abc import Mapping

from fairlead.inputs.configuration import FILES, KUBELET, SYSCTL
from fairlead.inputs.defaults import DEFAULTS, REACHING, default_os_stream
from fairlead.inputs.leaf import Json, Leaves
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.shape import is_empty, pruned

SPELLING = 3

# The last spelling that left out what is empty in a KubeletConfiguration.
WITHOUT_EMPTY = 2

FILE_MODE = f"{PLATFORM}code.{REACHING['config.files[].mode']}"
OS_STREAM = "osStream"

# What spelling 1 filled in, for ever: rows are never edited.
FILLED_BY_1: Leaves = {FILE_MODE: "0644"}
STREAMS_OF_1 = [[[0, 0], "ubuntu-22.04"], [[1, 34], "ubuntu-24.04"]]


def whole_value(path: str, value: Json, leaves: Leaves) -> Json:
    """Return a value with what these leaves fill in where nothing was written."""
    if path.startswith(FILES) and isinstance(value, Mapping):
        return {"mode": leaves.get(FILE_MODE, DEFAULTS["config.files[].mode"]), **value}
    return value


def respelled(stored: Leaves, wanted: Leaves, spelling: int) -> Leaves:
    """Return stored leaves as the wanted ones spell them, wherever both mean the same."""
    leaves = dict(stored)
    if spelling == 1:
        leaves = {**FILLED_BY_1, **leaves}
        _rename_settings(leaves, wanted)
    if spelling <= WITHOUT_EMPTY:
        _add_empty(leaves, wanted)
    for path in stored.keys() & wanted.keys():
        if path.startswith(FILES):
            # By the default that the machines have: another one is the platform's change.
            theirs = whole_value(path, leaves[path], leaves)
            if theirs == whole_value(path, wanted[path], leaves):
                leaves[path] = wanted[path]
    _respell_stream(leaves, wanted, STREAMS_OF_1 if spelling == 1 else None)
    return leaves


def _rename_settings(leaves: dict[str, Json], wanted: Leaves) -> None:
    """Spelling 1 put a dot where a name of an interface has one, and sysctl(8) reads a slash."""
    names = [path for path in wanted if path.startswith(SYSCTL) and "/" in path]
    told = [path for path in names if leaves.get(path.replace("/", ".")) == wanted[path]]
    for before in {path.replace("/", ".") for path in told} - wanted.keys():
        del leaves[before]
    leaves |= {path: wanted[path] for path in told}


def _add_empty(leaves: dict[str, Json], wanted: Leaves) -> None:
    """Until spelling 2 what is empty left no trace, so a document in force may have held it."""
    for path in wanted:
        if path.startswith(KUBELET):
            kept = pruned(wanted[path])
            if leaves.get(path) == (None if is_empty(kept) else kept):
                leaves[path] = wanted[path]


def _respell_stream(leaves: dict[str, Json], wanted: Leaves, rows: Json) -> None:
    """The stream of a version by default is the same as none."""
    default = default_os_stream(str(leaves.get("release.version", "")), rows)
    if leaves.get(OS_STREAM, default) == wanted.get(OS_STREAM, default):
        leaves.pop(OS_STREAM, None)
        if OS_STREAM in wanted:
            leaves[OS_STREAM] = wanted[OS_STREAM]
