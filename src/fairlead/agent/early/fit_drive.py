"""
Which block devices may bring a document: what a cloud attaches, and never what a pod is given.

A volume of a pod is a disk whose content the pod wrote, its label included, and it is still there
when the machine boots again. No cloud gives a pod an optical drive. Decided by what the kernel says
of the device that is open, so that a name that moves to another device changes nothing.
"""

from __future__ import annotations

import posix as os

from fairlead.agent.early.image_settings import ANY, DISK, OPTICAL, SETTINGS
from fairlead.agent.early.image_settings import DRIVES as SETTING
from fairlead.agent.files import find_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

DEVICES = "/sys/dev/block"

# Of SCSI: a drive for compact discs.
OPTICAL_TYPE = "5"

# Parts of a device's path that say it is not of this machine itself: iSCSI, Fibre Channel, NVMe
# over a network, Ceph.
NETWORK_PARTS = ("session", "rport-", "nvme-fabrics", "rbd")

# Config drives are at most this large: OpenStack's, with FAT. Most volumes start at 1 GiB.
LARGEST_DISK = 64 << 20
SECTOR = 512


def why_unfit(host: Host, number: str, drives: str) -> str:
    """
    Return why a device, by its numbers as in `8:16`, may bring no document; '' if it may.

    `drives` is what the image allows: OPTICAL, DISK or ANY.
    """
    if drives == ANY:
        return ""
    try:
        parts = os.readlink(host.real_path(f"{DEVICES}/{number}")).split("/")
    except OSError:
        return f"the kernel does not say what device {number} is"
    elsewhere = _why_not_of_this_machine(parts)
    if elsewhere or _is_optical(host, number, parts[-1]):
        return elsewhere
    if drives == OPTICAL:
        says = f"{SETTING}={DISK} in {SETTINGS} allows small ones"
        return f"{parts[-1]} is a disk, as volumes of pods are; {says}"
    return _why_unfit_disk(host, number, parts[-1])


def number_of(descriptor: int) -> str:
    """Return the numbers of an open block device, as in `8:16`; `0:0` of anything else."""
    device = os.fstat(descriptor).st_rdev
    return f"{os.major(device)}:{os.minor(device)}"


def _why_not_of_this_machine(parts: list[str]) -> str:
    name = parts[-1]
    if "virtual" in parts:
        return f"{name} is a loop device or another that no hardware stands behind"
    if any(part.startswith(NETWORK_PARTS) for part in parts):
        return f"{name} is reached over a network"
    return f"{name} is on USB" if any(part.startswith("usb") for part in parts) else ""


def _is_optical(host: Host, number: str, name: str) -> bool:
    return name.startswith("sr") and _attribute(host, number, "device/type") == OPTICAL_TYPE


def _why_unfit_disk(host: Host, number: str, name: str) -> str:
    # A partition has no such file; its disk, one directory above, has.
    removable = _attribute(host, number, "removable") or _attribute(host, number, "../removable")
    if removable != "0":
        return f"{name} can be taken out"
    size = _attribute(host, number, "size")
    if not size.isdecimal() or int(size) * SECTOR > LARGEST_DISK:
        return f"{name} is larger than the {LARGEST_DISK >> 20} MiB of a config drive"
    return ""


def _attribute(host: Host, number: str, name: str) -> str:
    try:
        return (find_file(host, f"{DEVICES}/{number}/{name}") or b"").decode("latin-1").strip()
    except OSError:
        return ""
