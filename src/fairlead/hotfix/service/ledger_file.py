"""
The file of the ledger: SQLite that several worker processes write, one at a time.

SQLite before 3.51.3 can corrupt a database whose write-ahead log two processes reset at once. So
whoever writes holds a lock of ours, in which checkpoints happen, too. It is waited for for
milliseconds: a booting machine is answered without the ledger rather than late.

What a power cut takes away are the last boots that were counted, never the file.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.errors import UnavailableError

LEDGER_FILE = "ledger.db"
LOCK_FILE = "ledger.lock"

# Seconds. A write takes a tenth of a millisecond; whoever holds the lock so long is stuck.
LOCK_WAIT_S = 0.25
LOOK_S = 0.001

PRIVATE = 0o600

SCHEMA = (
    # Machines that asked and have not said yet how their boot ended. version: what they were
    # offered, or ''.
    "CREATE TABLE IF NOT EXISTS asked (component TEXT, machine TEXT, base TEXT, version TEXT, "
    "region TEXT, at REAL, PRIMARY KEY (component, machine)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS asked_by_version ON asked (component, version)",
    "CREATE INDEX IF NOT EXISTS asked_by_time ON asked (at)",
    # How the boots of each machine with each version ended. said_*: those of this epoch that a
    # campaign goes by, see ledger.py.
    "CREATE TABLE IF NOT EXISTS boots (component TEXT, base TEXT, version TEXT, machine TEXT, "
    "epoch TEXT, region TEXT, good INTEGER, failed INTEGER, said_good INTEGER, "
    "said_failed INTEGER, at REAL, cause TEXT, "
    "PRIMARY KEY (component, base, version, machine)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS boots_by_time ON boots (at)",
    # Sums of it.
    "CREATE TABLE IF NOT EXISTS tallies (component TEXT, base TEXT, version TEXT, region TEXT, "
    "epoch TEXT, good INTEGER, failed INTEGER, said_good INTEGER, said_failed INTEGER, "
    "PRIMARY KEY (component, base, version, region, epoch)) WITHOUT ROWID",
    # The last boot of each machine.
    "CREATE TABLE IF NOT EXISTS machines (component TEXT, machine TEXT, base TEXT, region TEXT, "
    "pool TEXT, used TEXT, wanted TEXT, good INTEGER, cause TEXT, run TEXT, at REAL, "
    "PRIMARY KEY (component, machine)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS machines_by_fix ON machines (component, base, used, region)",
    "CREATE INDEX IF NOT EXISTS machines_by_time ON machines (at)",
    # How often a join token was shown.
    "CREATE TABLE IF NOT EXISTS spent (nonce TEXT PRIMARY KEY, uses INTEGER, until REAL) "
    "WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS spent_by_end ON spent (until)",
    "CREATE TABLE IF NOT EXISTS campaigns (component TEXT, version TEXT, epoch TEXT, wave INTEGER, "
    "good_before INTEGER, halted TEXT, PRIMARY KEY (component, version)) WITHOUT ROWID",
)


class LedgerFile:
    """One open ledger. Raises UnavailableError if it cannot be opened, read or written."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / LEDGER_FILE
        # Of the threads of this process; the other lock is between processes.
        self._turn = threading.Lock()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._lock = os.open(directory / LOCK_FILE, flags, PRIVATE)
            # Made here, so that it is never readable by others, not even for a moment.
            os.close(os.open(self.path, flags, PRIVATE))
        except OSError as error:
            raise UnavailableError(f"{directory} takes no ledger: {error.strerror}") from error
        with self._told():
            self._connection = sqlite3.connect(
                self.path, isolation_level=None, timeout=LOCK_WAIT_S, check_same_thread=False
            )
            with self._locked():
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                for statement in SCHEMA:
                    self._connection.execute(statement)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Everything inside is written, or nothing is."""
        with self._told(), self._locked():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """What is read inside belongs to one moment."""
        with self._told(), self._turn:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close it; the last one to do so moves everything into the one file."""
        with self._told(), self._locked():
            self._connection.close()
        os.close(self._lock)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        end = time.monotonic() + LOCK_WAIT_S
        with self._turn:
            self._wait_for_lock(end)
            try:
                yield
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _wait_for_lock(self, end: float) -> None:
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise UnavailableError(f"{self.path} is held by another process") from None
                time.sleep(LOOK_S)
            else:
                return

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise UnavailableError(f"the ledger {self.path} failed: {error}") from error


def open_to_read(directory: Path) -> sqlite3.Connection | None:
    """Return a ledger that somebody else writes, to read; None if there is none yet."""
    file = directory / LEDGER_FILE
    if not file.exists():
        return None
    try:
        return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_WAIT_S)
    except sqlite3.Error as error:
        raise UnavailableError(f"the ledger {file} failed: {error}") from error
