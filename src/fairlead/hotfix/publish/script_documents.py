"""
Script files that a fix brings: where nodes look for them, and nothing that their reader refuses.

A node refuses a fix whole for a document that it cannot read, and never opens one that lies
elsewhere. Both are found here by the node's own reader, before anything is signed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fairlead.agent.hotfix.script_files import DOCUMENT, SCRIPTS
from fairlead.agent.hotfix.script_text import parse_script_files
from fairlead.errors import InputError

# As /etc/os-release may spell ID, with or without VERSION_ID behind it.
_LOOKED_FOR = re.compile(
    rf"({SCRIPTS}/[a-z0-9][a-z0-9._-]{{0,63}}/)?{re.escape(DOCUMENT)}", re.ASCII
)


def is_beside_the_agent(path: str) -> bool:
    """Say whether this path, below the directory of a fix, is one of its script files."""
    return path == DOCUMENT or path.startswith(f"{SCRIPTS}/")


def refuse_unless_taken(documents: Mapping[str, bytes], bringer: str) -> None:
    """
    Raise InputError for script files that no node would take. bringer: who brings them.

    documents: what they hold by path, below the directory of the fix.
    """
    for path, content in sorted(documents.items()):
        if not _LOOKED_FOR.fullmatch(path):
            raise InputError(
                f"{bringer} brings {path}, which no node looks for",
                hint=f"expected {SCRIPTS}/ID/{DOCUMENT} with the ID of /etc/os-release, or with "
                f"its VERSION_ID behind it: {SCRIPTS}/ubuntu22.04/{DOCUMENT}",
            )
        try:
            parse_script_files(content)
        except InputError as error:
            raise InputError(
                f"{bringer} brings {path}, which nodes refuse whole: {error}"
            ) from error
