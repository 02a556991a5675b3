"""What every test may count on."""

import pytest


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in a pipe have no width, unless a test gives them one: xdist sets one for all."""
    monkeypatch.delenv("COLUMNS", raising=False)
