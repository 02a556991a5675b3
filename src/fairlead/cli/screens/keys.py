"""Roles and their keys as people read them."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.cli.screens.blocks import Grid
from fairlead.hotfix.publish.key_list import RoleKeyList

# Characters of an id that tell keys apart.
SHORT = 12


def role_grid(roles: Iterable[RoleKeyList]) -> Grid:
    """Return a table of roles."""
    rows = tuple(
        (
            one["role"],
            f"{one['threshold']} of {len(one['keys'])}",
            str(one["version"]),
            one["ends"],
            " ".join(name[:SHORT] for name in one["keys"]),
        )
        for one in roles
    )
    return Grid(("ROLE", "MUST SIGN", "VERSION", "ENDS", "KEYS"), rows)
