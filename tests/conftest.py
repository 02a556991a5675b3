"""What every test may count on."""

import os
import signal

import pytest

# Once gRPC was used in a process, its handlers would abort children that Python forks before they
# run their program: "epoll_wait error: Bad file descriptor", and whatever test comes next fails.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# A shell makes what it runs in the background deaf to Ctrl-C, and nohup to a lost terminal. Every
# process that a test starts, and then interrupts, would inherit that.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has no width and a terminal its own, unless a test says: xdist sets one for all."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
