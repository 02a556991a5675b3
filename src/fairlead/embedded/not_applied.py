"""
What machines of this computer are told and do not apply, with the reason that owners read.

They boot one image and provision by the agent's built-in steps: what chooses an image, a size or
a version has nothing to choose from here. tests/unit/embedded/test_every_leaf.py tries each leaf.
"""

from collections.abc import Mapping

_IMAGE = "machines here boot the one image that they are given, with the kubelet in it"

# Paths are those of rows of the registry.
NOT_APPLIED: Mapping[str, str] = {
    "release.version": _IMAGE,
    "release.digest": _IMAGE,
    "imageBase": _IMAGE,
    "osStream": _IMAGE,
    "machineTemplate.*": "machines here have no size, disk or network to choose",
    "timeouts.detach": "machines here have no volumes to detach",
    "proxyImage": "the built-in steps start no data-plane proxy",
}
