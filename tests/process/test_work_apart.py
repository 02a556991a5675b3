"""Nothing that an attempt at a fix started outlives it, whatever it did to stay."""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from conformance.machine_seeds import wait_until
from process.agent_process import agent_environment

COUNTED = re.compile(r"\d+ processes at once, of at most 192")
NOBODY = "65534"
STUBBORN = [
    "leave_session", "fork_twice", "ignore_signals", "stand_still", "flee",
    "end_and_leave_a_daemon",
]  # fmt: skip

# By control group as root. For everybody else by a process namespace, and by descent where the
# kernel grants none: here because the process may not be looked into.
KEPT = ["nobody, by namespace", "nobody, by descent"]
USERS = ["root", *KEPT] if os.geteuid() == 0 else ["self"]

# Seconds that whatever the boot did not wait for may still take to be gone.
SOON_S = 2.0


def words_for(work: str, seconds: float, user: str) -> list[str]:
    words = [sys.executable, str(Path(__file__).with_name("apart_work.py")), work, str(seconds)]
    as_user = {KEPT[0]: [NOBODY, "seen"], KEPT[1]: [NOBODY]}
    return [*words, *as_user.get(user, [])]


def run_apart(work: str, seconds: float, user: str) -> tuple[list[str], list[str], list[str]]:
    """What was printed, and the processes and the control groups that are still there."""
    mark = uuid.uuid4().hex
    # Files, not pipes: a survivor would hold those open.
    with NamedTemporaryFile() as out:
        environment = agent_environment(FAIRLEAD_TEST_MARK=mark)
        with subprocess.Popen(
            words_for(work, seconds, user), env=environment, stdout=out, stderr=out
        ) as running:
            try:
                returncode = running.wait(60)
            finally:
                running.kill()
        printed = Path(out.name).read_text()
    has_left = printed.split()[2:3] != ["0"]
    survivors = alive_after(SOON_S, mark) if has_left else alive(mark)
    for process in survivors:
        os.kill(int(process), signal.SIGKILL)
    assert returncode == 0, printed
    return printed.split(), survivors, groups_of(running.pid)


def alive_after(seconds: float, mark: str) -> list[str]:
    """Who is still there then; sooner if nobody is."""
    end = time.monotonic() + seconds
    while (found := alive(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


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

    assert (first, second) == ("b'started'", "None")
    assert (survivors, groups) == ([], [])
    assert (left, children) == ("0", "0")
    assert float(took) < 1.0


@pytest.mark.parametrize("user", KEPT if os.geteuid() == 0 else USERS)
@pytest.mark.parametrize("work", ["crowd", "multiply", "bomb"])
def test_what_multiplies_is_given_up_before_the_kernel_refuses_more_and_all_of_it_is_ended(
    work: str, user: str
) -> None:
    (first, _, _, took, _, *why), survivors, _ = run_apart(work, 3, user)

    assert first == "b'started'"
    assert COUNTED.fullmatch(" ".join(why))
    assert survivors == []
    assert float(took) < 3.5


@pytest.mark.parametrize("user", USERS)
def test_whoever_is_killed_while_it_waits_takes_the_work_along(user: str) -> None:
    mark = uuid.uuid4().hex
    environment = agent_environment(FAIRLEAD_TEST_MARK=mark)
    with subprocess.Popen(
        words_for("leave_session", 30, user), env=environment, stdout=subprocess.DEVNULL
    ) as running:
        wait_until(lambda: b"sleep" in names_of(alive(mark)), "work that has begun")
        running.kill()

    survivors = alive_after(SOON_S, mark)
    for process in survivors:
        os.kill(int(process), signal.SIGKILL)
    assert survivors == []
    wait_until(lambda: groups_of(running.pid) == [], "the end of its control groups")


def names_of(processes: list[str]) -> list[bytes]:
    found = []
    for process in processes:
        with suppress(OSError):
            found.append(Path(f"/proc/{process}/comm").read_bytes().strip())
    return found


def test_a_line_without_an_end_is_not_waited_for() -> None:
    (first, second, *_), survivors, _ = run_apart("talk_without_end", 5, "root")

    assert (first, second) == ("b'started'", "None")
    assert survivors == []
