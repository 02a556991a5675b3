"""
What machines of a cluster are told and do not apply, with the reason that owners read.

Cluster API makes them from the infrastructure template that the owner names, at the version that
the owner declares; what chooses another image or size has nothing to choose from beside it.
tests/unit/kube/test_every_cluster_leaf.py tries each leaf.
"""

from collections.abc import Mapping

from fairlead.kube.cluster_api.infrastructure import NAMED

_IMAGE = "machines boot the image of their infrastructure template; name another template"

# Paths are those of rows of the registry; those of one leaf go before them, '' is applied.
NOT_APPLIED: Mapping[str, str] = {
    "release.digest": "Cluster API is told the version alone; the image that it chooses decides",
    "imageBase": _IMAGE,
    "osStream": _IMAGE,
    "machineTemplate.*": "size, disk and network are those of the infrastructure template; name "
    "another template",
    **{f"machineTemplate.{name}": "" for name in NAMED},
    "proxyImage": "the built-in steps start no data-plane proxy",
}
