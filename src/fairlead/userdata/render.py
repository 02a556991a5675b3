"""
A delivery to the bytes that a machine boots from.

The result is exactly what the chosen cloud takes: base64 where its API wants base64, and never
elsewhere, since a machine that sees base64 as user data runs nothing and says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.contract.node_paths import LAYOUTS
from fairlead.errors import InputError
from fairlead.userdata.boothook import render_boothook_document
from fairlead.userdata.cloud_config import render_cloud_config
from fairlead.userdata.delivery import Delivery, NodeFile, files_of
from fairlead.userdata.ignition import DEFAULT_VERSION, render_ignition
from fairlead.userdata.limits import CLOUDS, fit

FORMATS = ("boothook", "cloud-config", "ignition")


@dataclass(frozen=True)
class Target:
    """What the machine is: its user-data format, its cloud, its path layout."""

    format: str
    cloud: str = "nocloud"
    layout: str = "fairlead"
    features: dict[str, str] = field(default_factory=dict)
    ignition_version: str = DEFAULT_VERSION

    def __post_init__(self) -> None:
        for name, known in (("format", FORMATS), ("cloud", tuple(CLOUDS)), ("layout", LAYOUTS)):
            value = getattr(self, name)
            if value not in known:
                raise InputError(f"{value!r} is not known, expected {', '.join(known)}", field=name)


def render_user_data(delivery: Delivery, target: Target) -> bytes:
    """Return the user data of one machine. Raises InputError: a NUL, or too large."""
    files = files_of(delivery, target.layout, target.features)
    document = _document_of(files, target)
    return fit(document, target.format, target.cloud, files)


def _document_of(files: list[NodeFile], target: Target) -> bytes:
    if target.format == "boothook":
        return render_boothook_document(files, target.layout)
    if target.format == "cloud-config":
        return render_cloud_config(files)
    return render_ignition(files, target.layout, target.ignition_version)
