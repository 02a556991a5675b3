"""
A look at the database while it is in use, a little at a time: every row against its seal.

A disk can change what lies on it at any time, and the pages that a control plane has in memory
hide that until it starts again. So the file itself is read, past those pages: right after all
that was written is in it, on a connection that lasts for one slice. Nobody writes meanwhile,
since there is one process and one thread.

What a slice costs says how long the next one waits, so that a fleet of any size costs the same
share of a processor, and a large one takes longer to get round.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from fairlead.embedded.store.check import Damage, damage_of, find_findings, find_unrelated
from fairlead.embedded.store.seals import find_changed_after, find_lost, sealed_tables

# Of one processor.
SHARE = 0.0025

# Seconds of one slice, as far as rows go; the structure of a table is one piece, however large.
SLICE_S = 0.002

# Bytes of rows that are read before the clock is looked at again.
PIECE_BYTES = 1 << 18

Piece = Callable[[sqlite3.Connection], Damage]


class Sweep:
    """How far the look at one file has got. Begins again once it is round."""

    def __init__(self, file: Path) -> None:
        self.rounds = 0
        self._file = file
        self._places: dict[str, int] = {}
        self._pieces: Iterator[Piece] = iter(())
        self._next_at = 0.0

    def step(self, monotonic: float) -> Damage:
        """
        Look a little further, if it is time to; return what is not what was written.

        The log of writes must be empty: what is in it is not looked at.
        """
        if monotonic < self._next_at:
            return Damage()
        begun = time.thread_time()
        try:
            found = self._slice(begun)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # SQLite's own words may hold bytes of the damaged page.
            found = Damage(whole=str(error))
        self._next_at = monotonic + (time.thread_time() - begun) / SHARE
        return found

    def _slice(self, begun: float) -> Damage:
        # Immutable: no lock is taken, and none is let go that the writer holds.
        address = f"{self._file.absolute().as_uri()}?immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            while True:
                piece = next(self._pieces, None)
                if piece is None:
                    self._pieces = self._all_pieces(connection)
                    return Damage()
                found = piece(connection)
                if found.is_any or time.thread_time() - begun > SLICE_S:
                    return found

    def _all_pieces(self, connection: sqlite3.Connection) -> Iterator[Piece]:
        return self._each(sealed_tables(connection))

    def _each(self, tables: dict[str, list[str]]) -> Iterator[Piece]:
        for table, columns in tables.items():
            self._places[table] = -1
            while table in self._places:
                yield partial(self._look_at_rows, table, columns)
        for table in tables:
            yield partial(self._look_at_structure, table)
        yield self._look_at_all
        self.rounds += 1

    def _look_at_rows(
        self, table: str, columns: list[str], connection: sqlite3.Connection
    ) -> Damage:
        rows, last = find_changed_after(
            connection, (table, columns), self._places[table], PIECE_BYTES
        )
        if last is None:
            del self._places[table]
        else:
            self._places[table] = last
        return damage_of(connection, rows)

    def _look_at_structure(self, table: str, connection: sqlite3.Connection) -> Damage:
        findings = find_findings(connection, table)
        return Damage() if findings == ["ok"] else Damage(whole="; ".join(findings[:1]))

    def _look_at_all(self, connection: sqlite3.Connection) -> Damage:
        return Damage(whole=find_unrelated(connection) or find_lost(connection))
