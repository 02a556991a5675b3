"""What an owner declared, as people read it."""

from __future__ import annotations

from fairlead.answers.pool import KeptDocument, PoolHistory
from fairlead.cli.screens.blocks import GOOD, QUIET, Block, Cell, Grid, Toned
from fairlead.decision.explain import moment
from fairlead.proposal.leaves import pool_differences
from fairlead.telling.counted import names_text


def history_blocks(kept: PoolHistory) -> list[Block]:
    """Return the documents of a pool, the oldest first, each with what it changed."""
    before: KeptDocument | None = None
    rows: list[tuple[Cell, ...]] = []
    for document in kept.documents:
        is_last = document is kept.documents[-1]
        rows.append(
            (
                str(document.number),
                Toned(moment(document.at), QUIET) if document.at else "",
                document.actor,
                Toned("in force", GOOD) if is_last else "",
                _changed(before, document),
            )
        )
        before = document
    return [Grid(("NUMBER", "SINCE", "BY", "STATE", "CHANGED"), tuple(rows))]


def _changed(before: KeptDocument | None, after: KeptDocument) -> Cell:
    if before is None:
        return Toned("the first that is kept", QUIET)
    leaves = pool_differences(before.document, after.document)
    return names_text([leaf.leaf for leaf in leaves]) or Toned("nothing of what is declared", QUIET)
