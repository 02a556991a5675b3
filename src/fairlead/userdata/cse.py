"""The command that a cloud's script extension runs to learn how the first boot ended."""

from __future__ import annotations

from fairlead.contract.node_paths import document_path


def cse_command(layout: str) -> str:
    """Return the command line: it ends when the node has a verdict, with its exit code."""
    return f"{document_path('baked_agent', layout)} provision-wait"
