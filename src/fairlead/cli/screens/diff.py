"""Differences as people read them."""

from __future__ import annotations

from typing import Any

from fairlead.cli.screens.blocks import GOOD, STRONG, Block, Toned, line
from fairlead.cli.screens.leaves import leaf_grid
from fairlead.cli.screens.plan import counted, names_text


def difference_blocks(differences: list[dict[str, Any]]) -> list[Block]:
    """Return the differences, one subject after the other."""
    blocks: list[Block] = []
    for difference in differences:
        count = len(difference["leaves"])
        tone = "" if count else GOOD
        told = f"{counted(count, 'difference')}" if count else "no difference"
        blocks.append(line(Toned(difference["of"], STRONG), ": ", Toned(told, tone)))
        if difference.get("machines"):
            blocks.append(line("  on ", names_text(difference["machines"])))
        if count:
            blocks.append(leaf_grid(difference["leaves"]))
    return blocks or [line("no machine")]
