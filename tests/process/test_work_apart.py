"""Nothing that an attempt at a fix started outlives it, whatever it did to stay."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from process.agent_process import agent_environment

NOBODY = "65534"
STUBBORN = [
    "leave_session", "fork_twice", "ignore_signals", "stand_still", "multiply",
    "end_and_leave_a_daemon",
]  # fmt: skip

# By control group as root, by descent for everybody else.
USERS = ["root", NOBODY] if os.geteuid() == 0 else ["self"]


def run_apart(work: str, seconds: float, user: str) -> tuple[list[str], list[str], list[str]]:
    """What was printed, and the processes and the control groups that are still there."""
    mark = uuid.uuid4().hex
    words = [sys.executable, str(Path(__file__).with_name("apart_work.py")), work, str(seconds)]
    words += [user] if user == NOBODY else []
    # Files, not pipes: a survivor would hold those open.
    with NamedTemporaryFile() as out:
        environment = agent_environment(FAIRLEAD_TEST_MARK=mark)
        with subprocess.Popen(words, env=environment, stdout=out, stderr=out) as running:
            try:
                returncode = running.wait(60)
            finally:
                running.kill()
        printed = Path(out.name).read_text()
    survivors = alive(mark)
    for process in survivors:
        os.kill(int(process), signal.SIGKILL)
    assert returncode == 0, printed
    return printed.split(), survivors, groups_of(running.pid)


def alive(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            has_mark = mark.encode() in path.read_bytes()
        except OSError:
            continue
        if has_mark:
            found.append(path.parent.name)
    return found


def groups_of(process: int) -> list[str]:
    """Groups that this process made: tests of other workers make and remove theirs meanwhile."""
    named = f"fairlead-fix-{process}"
    return [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if Path(folder).name == named]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("work", STUBBORN)
def test_nothing_survives_the_end_of_work_apart(work: str, user: str) -> None:
    (first, second, left, took, children, *_), survivors, groups = run_apart(work, 0.5, user)

    assert first == "b'started'"
    assert second == "None"
    assert survivors == []
    assert groups == []
    # How many were not seen to be gone in time is told. Of a bomb that nothing but walks through
    # /proc can end, a busy computer leaves some dying a little longer.
    assert left == "0" or (work, user) == ("multiply", NOBODY)
    assert children == "0" or left != "0"
    assert float(took) < 1.0


def test_a_line_without_an_end_is_not_waited_for() -> None:
    (first, second, *_), survivors, _ = run_apart("talk_without_end", 5, "root")

    assert (first, second) == ("b'started'", "None")
    assert survivors == []
