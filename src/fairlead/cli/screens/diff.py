"""Differences as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.answers.leaf import LeafDifference
from fairlead.cli.screens.blocks import GOOD, STRONG, Block, Toned, line
from fairlead.cli.screens.leaves import leaf_grid
from fairlead.telling.counted import counted, names_text


@dataclass(frozen=True, slots=True)
class Difference:
    """What one thing lacks: a document, or machines that booted alike."""

    of: str
    leaves: tuple[LeafDifference, ...]
    machines: tuple[str, ...] = ()


def difference_blocks(differences: Sequence[Difference]) -> list[Block]:
    """Return the differences, one subject after the other."""
    blocks: list[Block] = []
    for difference in differences:
        count = len(difference.leaves)
        told = Toned(counted(count, "difference")) if count else Toned("no difference", GOOD)
        blocks.append(line(Toned(difference.of, STRONG), ": ", told))
        if difference.machines:
            blocks.append(line("  on ", names_text(difference.machines)))
        if count:
            blocks.append(leaf_grid(difference.leaves))
    return blocks or [line("no machine")]
