"""
Files of a step: written only if they differ, so that a second run touches nothing.

The mode counts as content: a key that became world-readable is written again.
"""

from __future__ import annotations

import stat

from fairlead.agent.files import remove_if_present, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.steps.step import StepOutcome

# Anyone may read; root writes.
PUBLIC = 0o644

# Holds a token, a key, or a proxy address that may carry a password.
SECRET = 0o600


def apply_file(host: Host, path: str, content: bytes, mode: int, outcome: StepOutcome) -> None:
    """Make the path a plain file with exactly this content and mode; note in outcome which way."""
    if has_file(host, path, content, mode):
        outcome.already.append(path)
        return
    write_atomically(host, path, content, mode)
    outcome.changed.append(f"wrote {path}")


def apply_absence(host: Host, path: str, outcome: StepOutcome) -> None:
    """Make sure that nothing is at the path; a path that was free already is not worth a word."""
    if remove_if_present(host, path):
        outcome.changed.append(f"removed {path}")


def has_file(host: Host, path: str, content: bytes, mode: int) -> bool:
    """Say whether the path is a plain file with exactly this content and mode."""
    found = host.file_mode(path)
    if found is None or not stat.S_ISREG(found) or stat.S_IMODE(found) != mode:
        return False
    return host.read_file(path) == content
