"""
User data for images whose agent starts when cloud-init is done: `write_files`, nothing else.

cloud-init writes in place, without a rename: an image that watches for the config may see a part
of it. Large configs are slow here, since cloud-init reads them as YAML: 1 MiB costs it 2 to 3.5 s.
Where the image has a boothook, use that.
"""

from __future__ import annotations

from fairlead.userdata.delivery import DOCUMENT_MODE, NodeFile
from fairlead.userdata.packed import pack

# Every value is from our own tables or base64, so that none needs quoting but the mode, which
# YAML would read as a number.
HEADER = "#cloud-config\nwrite_files:\n"
ENTRY = """\
- path: {path}
  permissions: "{mode:04o}"
  owner: root:root
  encoding: {encoding}
  defer: false
  content: |
{lines}
"""


def render_cloud_config(files: list[NodeFile]) -> bytes:
    """Return a #cloud-config document that writes these files."""
    entries = []
    for file in files:
        packed = pack(file.content)
        entries.append(
            ENTRY.format(
                path=file.path,
                mode=DOCUMENT_MODE,
                encoding="gz+b64" if packed.is_compressed else "b64",
                lines="\n".join(f"    {line}" for line in packed.lines()),
            )
        )
    return (HEADER + "".join(entries)).encode("ascii")
