"""
How much user data each cloud takes, and in which wrapping.

A document above the cap is sent as gzip where both ends allow it, and refused by size otherwise:
a cloud that cuts or rejects user data does so long after the person who could help is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.contract.json_text import parse_json
from fairlead.errors import InputError
from fairlead.userdata.delivery import NodeFile, texts_in
from fairlead.userdata.packed import compress, encode

KIB = 1024

LARGEST_SHOWN = 3


@dataclass(frozen=True)
class Cloud:
    """
    One way to hand user data to a machine.

    cap: bytes, None for no limit. counts_base64: the cap is for the base64 of the document.
    wants_base64: its API takes base64 and its machines see what was encoded, so the base64 is
    part of the document we hand out. carries_bytes: it takes more than text, that is, gzip.
    """

    cap: int | None
    counts_base64: bool = False
    wants_base64: bool = False
    carries_bytes: bool = True


CLOUDS = {
    # customData: "the maximum length of the binary array is 65535 bytes", one short of 64 KiB.
    "azure": Cloud(64 * KIB - 1, wants_base64=True),
    # 16 KiB before base64, which the command line tools and Terraform add themselves.
    "aws": Cloud(16 * KIB),
    # One metadata value, and metadata values are text.
    "gcp": Cloud(256 * KIB, carries_bytes=False),
    # Nova's schema limits the base64 text to 65535 characters; its clients encode.
    "openstack": Cloud(64 * KIB - 1, counts_base64=True),
    # A file on the machine. cloud-init does not decode it: base64 here runs nothing.
    "nocloud": Cloud(None),
}

# Formats whose reader unpacks a document that is gzip as a whole.
COMPRESSIBLE = ("boothook", "cloud-config")


def fit(document: bytes, format_name: str, cloud_name: str, files: list[NodeFile]) -> bytes:
    """Return the document as this cloud takes it. Raises InputError if it is too large."""
    cloud = CLOUDS[cloud_name]
    if not fits(document, cloud):
        smaller = document
        if format_name in COMPRESSIBLE and cloud.carries_bytes:
            smaller = min(document, compress(document), key=len)
        if not fits(smaller, cloud):
            raise _too_large(smaller, cloud_name, files)
        document = smaller
    return encode(document).encode() if cloud.wants_base64 else document


def fits(document: bytes, cloud: Cloud) -> bool:
    """Say whether the cloud takes a document of this size."""
    return cloud.cap is None or _counted(document, cloud) <= cloud.cap


def _counted(document: bytes, cloud: Cloud) -> int:
    return -(-len(document) // 3) * 4 if cloud.counts_base64 else len(document)


def _too_large(document: bytes, cloud_name: str, files: list[NodeFile]) -> InputError:
    cloud = CLOUDS[cloud_name]
    counted = " as base64" if cloud.counts_base64 else ""
    largest = ", ".join(f"{path} {size} bytes" for path, size in largest_fields(files))
    return InputError(
        f"user data is {_counted(document, cloud)} bytes{counted}, and {cloud_name} takes at most "
        f"{cloud.cap}; the largest fields: {largest}",
        hint="shorten them, or use fetch delivery: --fetch --endpoint URL --ca FILE",
    )


def largest_fields(files: list[NodeFile]) -> list[tuple[str, int]]:
    """Return the largest texts in these files with their sizes in bytes, largest first."""
    sizes: list[tuple[str, int]] = []
    for file in files:
        try:
            value = parse_json(file.content, encoding_errors="surrogateescape")
        except InputError:
            sizes.append((file.path, len(file.content)))
            continue
        sizes += [
            (path, len(text.encode("utf-8", "surrogatepass"))) for path, text in texts_in(value, "")
        ]
    return sorted(sizes, key=lambda row: (-row[1], row[0]))[:LARGEST_SHOWN]
