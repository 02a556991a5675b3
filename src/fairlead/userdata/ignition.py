"""
User data for images without cloud-init: an Ignition config that writes files and enables the unit.

Ignition runs once, in the initrd of the first boot, so the unit finds its files whatever the
order. The spec version is the lowest that the image accepts; nothing here needs more than 3.0.
"""

from __future__ import annotations

from fairlead.contract.json_text import encode_json
from fairlead.contract.node_paths import unit_of
from fairlead.userdata.delivery import DOCUMENT_MODE, NodeFile
from fairlead.userdata.packed import pack

DEFAULT_VERSION = "3.4.0"


def render_ignition(files: list[NodeFile], layout: str, version: str = DEFAULT_VERSION) -> bytes:
    """Return an Ignition config that writes these files and enables the agent's unit."""
    config = {
        "ignition": {"version": version},
        "storage": {"files": [_file_of(file) for file in files]},
        "systemd": {"units": [{"name": unit_of(layout), "enabled": True}]},
    }
    return encode_json(config, indent=2).encode() + b"\n"


def _file_of(file: NodeFile) -> dict[str, object]:
    packed = pack(file.content)
    contents = {"source": f"data:;base64,{packed.text}"}
    if packed.is_compressed:
        contents["compression"] = "gzip"
    # Ignition reads modes as decimal numbers: 384 is 0600.
    return {
        "path": file.path,
        "overwrite": True,
        "mode": DOCUMENT_MODE,
        "contents": contents,
    }
