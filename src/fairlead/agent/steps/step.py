"""
A step: one named, repeatable change on the way from an image to a node.

What a failure means for the boot is one word in the step's row, never code inside the step.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

    Apply = Callable[[Host, NodeConfig], "StepOutcome"]

# The note of a step that found no service manager to talk to.
FILES_ONLY = "no systemd here: files only"


class StepOutcome:
    """
    What a step did and what it found done, in short sentences that never hold a secret.

    A second run of any step leaves `changed` empty. `unconfirmed` is what a provisioned node may
    still lack because nobody could be asked; '' if nothing.
    """

    __slots__ = ("already", "changed", "note", "unconfirmed")

    def __init__(self, changed: list[str], already: list[str], note: str) -> None:
        self.changed = changed
        self.already = already
        self.note = note
        self.unconfirmed = ""

    def add_note(self, sentence: str) -> None:
        """Say one more thing that a reader of the boot report should know."""
        self.note = f"{self.note}; {sentence}" if self.note else sentence


class Step:
    """One row of the table. `apply` raises OSError or FairleadError when it fails."""

    __slots__ = ("apply", "name", "on_failure")

    def __init__(self, name: str, apply: Apply, on_failure: str) -> None:
        self.name = name
        self.apply = apply
        self.on_failure = on_failure
