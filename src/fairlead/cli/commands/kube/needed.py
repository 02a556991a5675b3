"""What commands about clusters need that not every installation has."""

from __future__ import annotations

from importlib.util import find_spec

from fairlead.errors import InputError


def refuse_without_lightkube(who: str) -> None:
    """Raise InputError unless the client of API servers is installed."""
    if find_spec("lightkube") is None:
        raise InputError(
            f"lightkube is not installed, which {who} needs", hint="pip install 'fairlead[kube]'"
        )
