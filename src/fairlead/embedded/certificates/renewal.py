"""When a running control plane looks at its certificates: every hour, or as soon as one is due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fairlead.answers.words import Phase
from fairlead.embedded.certificates.authority import announce, make_or_read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairlead.embedded.state_directory import StateDirectory
    from fairlead.embedded.store.machines import StoredMachine

# A certificate is renewed a month before its end, so an hour that fails costs nothing.
RENEW_EVERY = timedelta(hours=1)

# While a machine is waited for.
LOOK_AGAIN = timedelta(seconds=1)


class Renewal:
    """The certificates of one state directory, renewed in their time."""

    def __init__(self, directory: StateDirectory, now: datetime) -> None:
        self._directory = directory.certificates
        self.certificates = make_or_read(self._directory, now=now)
        self._due = now
        self._set_due(now)

    def announce(self, now: datetime, overlap: timedelta) -> None:
        """Let the next authority take over after this overlap, before its time."""
        announce(self._directory, now, overlap)
        self._due = now

    def is_due(self, now: datetime) -> bool:
        """Say whether it is time to look again."""
        return now >= self._due

    def look(self, now: datetime, machines: Callable[[], Iterable[StoredMachine]]) -> bool:
        """
        Renew what is due; say whether anything is another than before. Raises InputError, OSError.

        machines: those that move, some of which may know the authority of before only.
        """
        self._due = now + RENEW_EVERY
        before = self.certificates
        self.certificates = make_or_read(
            self._directory,
            now=now,
            is_awaited=lambda known: any(_boots_since_before(one, known) for one in machines()),
        )
        self._set_due(now)
        return self.certificates != before

    def _set_due(self, now: datetime) -> None:
        takes_over_at = self.certificates.takes_over_at
        later = now + RENEW_EVERY
        self._due = later
        if takes_over_at is not None:
            self._due = min(later, max(takes_over_at, now + LOOK_AGAIN))


def _boots_since_before(stored: StoredMachine, moment: datetime) -> bool:
    """Say whether a machine got power before this moment, and its report is to come."""
    if stored.machine.phase is not Phase.BOOTING or stored.powered_at is None:
        return False
    has_reported = stored.reported_at is not None and stored.reported_at >= stored.powered_at
    return stored.powered_at < moment and not has_reported
