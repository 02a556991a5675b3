"""What every test may count on."""

import os

import pytest

# Once gRPC was used in a process, its handlers would abort children that Python forks before they
# run their program: "epoll_wait error: Bad file descriptor", and whatever test comes next fails.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has no width and a terminal its own, unless a test says: xdist sets one for all."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
