"""One program of the fix path: how long it may take, and what it said if it failed."""

from __future__ import annotations

from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.process import Finished
    from fairlead.agent.stages.stage import Boot

# Package managers say what is wrong in lines that begin so.
TROUBLE = ("E:", "W:", "Error:", "error:", "dpkg: error", "dpkg-deb: error")
LONGEST_SAID = 300
SHORTEST_S = 0.1

# No dialogue, no language but the one whose words are looked for.
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C", "DEBCONF_NONINTERACTIVE_SEEN": "true"}
# Where programs keep what they need for a moment, if it is there. Not /tmp: systemd empties that
# while a machine boots, and apt of Debian 12 then loses the keys that it checks signatures with.
SCRATCH = "/dev/shm"  # noqa: S108 - for programs that make files of their own in it
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def left_s(boot: Boot) -> float:
    """Return how many seconds are left of this half of the fix path."""
    left = (boot.fix_until_ns - boot.run.host.monotonic_ns()) / NS_PER_S
    return max(SHORTEST_S, left)


def try_step(boot: Boot, words: list[str]) -> Finished:
    """Run a program within what is left. Raises UnavailableError if it does not start or end."""
    host = boot.run.host
    environment = {"PATH": PATH, **host.environment, **QUIET}
    if _is_directory(host, SCRATCH):
        environment["TMPDIR"] = SCRATCH
    deadline_s = left_s(boot)
    try:
        finished = host.run(words, environment=environment, deadline_s=deadline_s)
    except OSError as error:
        raise UnavailableError(f"{words[0]} does not start: {error}") from error
    if finished.is_timeout:
        raise UnavailableError(
            f"{words[0]} did not end within the {deadline_s:.1f} s that are left"
        )
    return finished


def _is_directory(host: Host, path: str) -> bool:
    try:
        host.list_directory(path)
    except OSError:
        return False
    return True


def run_step(boot: Boot, words: list[str]) -> bytes:
    """Run a program that must succeed; return what it printed. Raises UnavailableError."""
    finished = try_step(boot, words)
    if finished.exit_code != 0:
        raise UnavailableError(f"{words[0]} failed: {said(finished)}")
    return finished.output


def said(finished: Finished) -> str:
    """Return the lines that name the trouble, else the last one, with the exit code."""
    lines = [line.strip() for line in finished.output.decode("utf-8", "replace").split("\n")]
    told = [line for line in lines if line.startswith(TROUBLE)] or [line for line in lines if line][
        -1:
    ]
    text = " ".join(told)[:LONGEST_SAID] or "it said nothing"
    return f"{text} (exit code {finished.exit_code})"
