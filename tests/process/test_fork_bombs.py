"""
A fix that multiplies without end is ended whole and at once, whatever kind of control groups a
machine has. Each kind is had by taking the others out of sight, in a mount namespace.

Not had here: version 2 with a pids controller of its own, and a kernel before 5.14, whose version 2
has no cgroup.kill. Not promised: a hierarchy of version 1 that neither counts nor freezes; there an
attempt is killed one by one. The bomb has bounds of its own: a test that fails takes no machine.
"""

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from conformance.machine_seeds import wait_until
from fairlead.agent.hotfix.control_group import MOST_TASKS
from process.agent_process import agent_environment
from process.test_work_apart import alive_after

GROUPS = Path("/sys/fs/cgroup")
# Above what the bomb starts in all: who meets this was not ended by anybody else.
OUTER = 1000

# What is out of sight.
HIDDEN = {
    "version 2 beside a pids hierarchy of version 1": [],
    "version 2 that counts no tasks": ["pids"],
    "version 1 alone": ["unified"],
    "version 1 without a count of tasks": ["unified", "pids"],
    "no control groups": [""],
}
# Kinds with which the kernel refuses a task too many, so that few are left to end.
BY_THE_KERNEL = (
    "version 2 beside a pids hierarchy of version 1",
    "version 1 alone",
)
# Seconds after the boot went on. With those before, less than a bomb lasts by itself.
KEPT_S = 2.0
NEEDED = ("unified", "pids", "freezer")
COUNTED = re.compile(r"\d+ (tasks at once, of at most 256|processes at once, of at most 192)")

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        not all((GROUPS / name / "cgroup.procs").exists() for name in NEEDED),
        reason="NOT RUN: needs control groups of both versions",
    ),
]


@pytest.fixture
def outer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A group of this computer around everything. One bomb at a time: two are another load."""
    with (tmp_path_factory.getbasetemp().parent / "bombs.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield from _outer_group()


def _outer_group() -> Iterator[Path]:
    """Bound what nothing else does."""
    group = GROUPS / "pids" / f"fairlead-bomb-{os.getpid()}"
    group.mkdir()
    (group / "pids.max").write_text(str(OUTER))
    try:
        yield group
    finally:
        # Whatever failed: no bomb outlives its test.
        (group / "pids.max").write_text("0")
        wait_until(lambda: _is_emptied(group), "the end of a bomb")
        group.rmdir()


def _is_emptied(group: Path) -> bool:
    left = (group / "cgroup.procs").read_text().split()
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    return not left


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_fork_bomb_is_ended_whole_wherever_it_goes_off(kind: str, outer: Path) -> None:
    mark = uuid.uuid4().hex
    agent = Path(__file__).with_name("apart_work.py")
    hide = "".join(f"umount -R {GROUPS}/{name}; " for name in HIDDEN[kind])
    script = f'echo $$ >{outer}/cgroup.procs; {hide}exec "$@"'
    words = ["unshare", "--mount", "sh", "-ec", script, "sh", sys.executable, str(agent)]

    ran = subprocess.run(
        [*words, "bomb", "2"],
        env=agent_environment(FAIRLEAD_TEST_MARK=mark),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    first, second, left, took, children, *why = ran.stdout.split()
    assert (first, second) == ("b'started'", "None")
    assert COUNTED.fullmatch(" ".join(why))
    assert float(took) < 2.5
    if kind in BY_THE_KERNEL:
        assert (left, children) == ("0", "0")
    # Elsewhere a keeper goes on beside a boot that need not wait for the last one: decision 0056.
    assert alive_after(KEPT_S, mark) == [], f"of {left} that were left"
    assert (outer / "pids.events").read_text() == "max 0\n", "nobody else had to bound it"


def test_the_agent_bounds_its_attempt_by_itself_where_the_kernel_counts_tasks() -> None:
    seen = (
        "from fairlead.agent.hotfix.control_group import make_control_group\n"
        "group = make_control_group()\n"
        "print(open(group._counting + '/pids.max').read(), end='')\n"
        "group.end(1)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", seen], env=agent_environment(), capture_output=True, text=True,
        check=True,
    )  # fmt: skip

    assert ran.stdout == f"{MOST_TASKS}\n"
