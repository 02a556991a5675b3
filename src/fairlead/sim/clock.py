"""Virtual time: nothing sleeps, and it never goes back."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Clock:
    """The time of one simulated world."""

    def __init__(self, start: datetime = START) -> None:
        self.now = start

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        if by < timedelta():
            raise ValueError(f"time does not go back by {-by}")
        self.now += by
