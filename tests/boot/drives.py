"""
Drives that a cloud attaches: an image file on a loop device, seen by one node under its label.

The kernel of a test machine may know neither ISO 9660 nor FAT. The agent reads them by itself.
"""

import subprocess
from contextlib import ExitStack
from pathlib import Path

# kind: (label, where the node sees it, how the image is made)
DRIVES = {
    "cidata-iso": ("cidata", "/dev/disk/by-label/cidata", "iso"),
    "cidata-vfat": ("CIDATA", "/dev/disk/by-label/CIDATA", "vfat"),
    "config-2-iso": ("config-2", "/dev/disk/by-label/config-2", "iso"),
    "config-2-vfat": ("CONFIG-2", "/dev/disk/by-label/CONFIG-2", "vfat"),
    "azure-media": ("provisioning", "/dev/sr0", "iso"),
}
DRIVE_TOOLS = ("genisoimage", "mkfs.vfat", "mcopy", "mmd", "losetup")

VFAT_KIB = 4096


def attach_drive(kind: str, files: dict[str, bytes], scratch: Path, stack: ExitStack) -> list[str]:
    """Return the options that show the drive to a node; it is detached when the stack ends."""
    label, seen_as, form = DRIVES[kind]
    image = make_image(form, label, files, scratch)
    device = _run("losetup", "--find", "--show", "--read-only", str(image)).strip()
    stack.callback(_run, "losetup", "--detach", device)
    return [f"--bind={device}:{seen_as}"]


def make_image(form: str, label: str, files: dict[str, bytes], scratch: Path) -> Path:
    """Return an image with these files, made by the tools that people use."""
    tree, image = scratch / "drive", scratch / "drive.img"
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    if form == "iso":
        _run("genisoimage", "-quiet", "-output", str(image), "-volid", label, "-JR", str(tree))
    else:
        _run("mkfs.vfat", "-C", "-n", label.upper(), str(image), str(VFAT_KIB))
        for entry in sorted(tree.iterdir()):
            _run("mcopy", "-s", "-i", str(image), str(entry), "::")
    return image


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
