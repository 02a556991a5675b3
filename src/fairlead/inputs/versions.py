"""
Kubernetes versions: how one is written, and which a kubelet may have beside a control plane.

By the version skew policy of Kubernetes a kubelet is never newer than the control plane, and at
most three minor versions older. A node does not go back to an older minor version, since what a
newer kubelet left on it may not be readable.
"""

import re
from dataclasses import dataclass

# Semantic versions have no number with a leading zero: no registry has such a tag.
_NUMBER = "(0|[1-9][0-9]{0,3})"
PATTERN = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-[0-9A-Za-z.-]+)?"
_VERSION = re.compile(PATTERN, re.ASCII)

# How many minor versions a kubelet may be behind.
MOST_BEHIND = 3

Minor = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """
    What is known of the control plane that the nodes of a pool join.

    version: '' if nobody knows it. problem: why it cannot be asked now, or ''; what it said last
    still counts, since control planes do not go back.
    """

    version: str = ""
    problem: str = ""


def minor_of(version: str) -> Minor | None:
    """Return major and minor of a version, or None if the text is none."""
    found = _VERSION.fullmatch(version)
    return (int(found[1]), int(found[2])) if found else None


def skew_of(version: str, control_plane: str) -> str:
    """Return why a kubelet of this version may not join, or ''; nothing is said of no version."""
    kubelet, plane = minor_of(version), minor_of(control_plane)
    if kubelet is None or plane is None:
        return ""
    if kubelet > plane:
        return f"found {version}, newer than the control plane, which is at {control_plane}"
    if kubelet[0] < plane[0] or plane[1] - kubelet[1] > MOST_BEHIND:
        behind = f"more than {MOST_BEHIND} minor versions behind the control plane"
        return f"found {version}, {behind}, which is at {control_plane}"
    return ""


def back_of(version: str, before: str) -> str:
    """Return why a node does not go from the one version to the other, an older one, or ''."""
    wanted, known = minor_of(version), minor_of(before)
    if wanted is None or known is None or wanted >= known:
        return ""
    return f"found {version}, older than the {known[0]}.{known[1]} that the pool has"


def way_out(word: str) -> str:
    """Return what to write to have a version all the same."""
    return f"to have it anyway: release.allow: [{word}]"
