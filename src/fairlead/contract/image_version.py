"""
Versions of images and agents, YYYYMM.DD.PATCH, and whether one may replace another.

The base (YYYYMM.DD) is text: a map key `202604.01` is not `202604.1`. The gate compares numbers,
as the published agent does, so a key must match as text before the gate is asked at all.
"""

from __future__ import annotations

# Unicode White_Space. str.strip() also takes U+001C to U+001F, which are not.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
PARTS = 3
HIGHEST_PART = 2**64 - 1


def base_of(version: str) -> str | None:
    """Return YYYYMM.DD of a version, as written; None unless it has three non-empty parts."""
    parts = version.strip(WHITE_SPACE).split(".", PARTS - 1)
    if len(parts) < PARTS or not all(parts):
        return None
    return f"{parts[0]}.{parts[1]}"


def is_version(text: str) -> bool:
    """Say whether the text is digits.digits.digits and nothing else but space around it."""
    return bool(_numbers_of(text))


def may_upgrade(current: str, candidate: str) -> bool:
    """
    Say whether the candidate has the base of the current version and a higher patch.

    False if either is anything but digits.digits.digits: a pre-release mark, a fourth part or
    a missing one means that nobody can say which of the two is newer.
    """
    mine, theirs = _numbers_of(current), _numbers_of(candidate)
    if not mine or not theirs:
        return False
    return mine[:2] == theirs[:2] and mine[2] < theirs[2]


def _numbers_of(version: str) -> list[int]:
    """Return the three numbers of a version, or an empty list."""
    parts = [part.lstrip("0") or part[:1] for part in version.strip(WHITE_SPACE).split(".")]
    longest = len(str(HIGHEST_PART))
    if len(parts) != PARTS or not all(part.isascii() and part.isdigit() for part in parts):
        return []
    if any(len(part) > longest or int(part) > HIGHEST_PART for part in parts):
        return []
    return [int(part) for part in parts]
