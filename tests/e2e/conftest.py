"""What tests of the whole share."""

import os
from fcntl import LOCK_EX, flock

import pytest

from e2e.newcomer import Newcomer


@pytest.fixture(scope="session")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """Return a user with an installed clone; who needs it first installs it for all."""
    base = tmp_path_factory.getbasetemp()
    of_the_run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place = of_the_run / "newcomer"
    with (of_the_run / "newcomer.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        found = Newcomer(place)
        if not (place / "installed").exists():
            found.install()
            (place / "installed").touch()
    return found
