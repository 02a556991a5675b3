"""
The image of a machine: root directories laid over each other, never written to.

An image must keep to itself: a cloud-init that probes for its cloud would send requests to
whatever network this computer is in. So one that is not limited to NoCloud is refused.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import yaml

from fairlead.errors import InputError, UnavailableError

DATA_SOURCES = "datasource_list: [NoCloud, None]"
ALLOWED_SOURCES = {"NoCloud", "None"}
SETTINGS = "etc/cloud/cloud.cfg.d"
OUR_SETTINGS = f"{SETTINGS}/99-fairlead.cfg"

# path in the image: what an image builder does to have it
REQUIRED = {
    "usr/lib/systemd/systemd": "make the image with systemd",
    "usr/bin/cloud-init": "install cloud-init in it",
    "usr/lib/fairlead/fairlead-node": "install the fairlead-node package in it: make agent",
}

# In the machine's directory. Links, so that a machine keeps its image, and so that no layer's
# path has to be quoted for the kernel, which parts them by colons and commas.
LAYER = "layer"
UPPER, WORK, ROOT = "upper", "work", "root"


def refuse_unusable_image(layers: tuple[Path, ...]) -> None:
    """Return if machines can be made of these layers, the first on top; else raise InputError."""
    if not layers:
        raise InputError("an image needs at least one root directory", field="image")
    for layer in layers:
        if not layer.is_dir():
            raise InputError(f"{layer} is not a directory", field="image")
    for path, advice in REQUIRED.items():
        if not any((layer / path).is_file() for layer in layers):
            raise InputError(f"{layers[0]} has no {path}", field="image", hint=advice)
    found = data_sources_of(layers)
    if found is None or not set(found) <= ALLOWED_SOURCES or "NoCloud" not in found:
        shown = "no datasource_list" if found is None else ", ".join(found)
        raise InputError(
            f"cloud-init of {layers[0]} would look for its data on the network: {shown}",
            field="image",
            hint=f"write `{DATA_SOURCES}` to {OUR_SETTINGS} of the image",
        )


def data_sources_of(layers: tuple[Path, ...]) -> list[str] | None:
    """Return where cloud-init of this image looks for its data; None if nothing says so."""
    files = {"etc/cloud/cloud.cfg"}
    for layer in layers:
        files |= {f"{SETTINGS}/{file.name}" for file in (layer / SETTINGS).glob("*.cfg")}
    sources: list[str] | None = None
    # cloud-init takes cloud.cfg first, then the rest by name; the last word counts.
    for name in sorted(files, key=lambda name: (name.startswith(SETTINGS), name)):
        top = next((layer / name for layer in layers if (layer / name).is_file()), None)
        listed = _sources_in(top.read_bytes()) if top else None
        sources = sources if listed is None else listed
    return sources


def _sources_in(text: bytes) -> list[str] | None:
    try:
        settings = yaml.safe_load(text)
    except yaml.YAMLError:
        return None  # cloud-init passes over what it cannot read, too
    listed = settings.get("datasource_list") if isinstance(settings, dict) else None
    if listed is None:
        return None
    return [str(source) for source in listed] if isinstance(listed, list) else [str(listed)]


def lay_out(place: Path, layers: tuple[Path, ...]) -> None:
    """Afterwards the machine has an image and a disk of its own, if it had none."""
    for name in (UPPER, WORK, ROOT):
        (place / name).mkdir(mode=0o755, exist_ok=True)
    if not (place / f"{LAYER}0").is_symlink():
        # The first one last: cut off before it, everything is done again.
        for number, layer in reversed(list(enumerate(layers))):
            link = place / f"{LAYER}{number}"
            link.unlink(missing_ok=True)
            link.symlink_to(layer)


def mount(place: Path) -> None:
    """Afterwards `root` shows the image with the machine's disk on top. Raises UnavailableError."""
    if (place / ROOT).is_mount():
        return
    links = sorted(place.glob(f"{LAYER}*"), key=lambda link: int(link.name.removeprefix(LAYER)))
    layers = ":".join(link.name for link in links)
    options = f"lowerdir={layers},upperdir={UPPER},workdir={WORK}"
    _run("mount", "-t", "overlay", "-o", options, "fairlead", ROOT, place=place)


def unmount(place: Path) -> None:
    """Afterwards nothing is mounted at `root`."""
    while (place / ROOT).is_mount():
        _run("umount", "--lazy", ROOT, place=place)


def _run(*words: str, place: Path) -> None:
    ran = subprocess.run(
        words,
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
    )
    if ran.returncode != 0:
        problem = " ".join(ran.stderr.split()) or f"exit code {ran.returncode}"
        raise UnavailableError(f"{words[0]} of the disk of {place.name}: {problem}")
