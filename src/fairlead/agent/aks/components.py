"""
The GPU driver versions that an image carries, out of its components.json.

As upstream does it, one wrong type anywhere in the list makes the file unusable, while a version
that is not of the form DRIVER-SUFFIX leaves out that one image.
"""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, parse_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.contract.node_config import Value

VERSION_PARTS = 2


class Components:
    """Driver version and image suffix by image repository, such as aks-gpu-cuda-lts."""

    __slots__ = ("gpu_images",)

    def __init__(self, gpu_images: dict[str, tuple[str, str]] | None = None) -> None:
        self.gpu_images = gpu_images or {}

    def driver_version(self, repository: str) -> str:
        """Return the driver version of an image, such as 580.126.09; '' if unknown."""
        return self.gpu_images.get(repository, ("", ""))[0]

    def image_suffix(self, repository: str) -> str:
        """Return what follows the driver version in an image's tag; '' if unknown."""
        return self.gpu_images.get(repository, ("", ""))[1]


def parse_components(text: bytes) -> Components:
    """Return the GPU images of a components.json. Raises InputError if it cannot be used."""
    return Components(_gpu_images(parse_json(text, encoding_errors="replace")))


def _gpu_images(document: Value) -> dict[str, tuple[str, str]]:
    images: dict[str, tuple[str, str]] = {}
    for image in _items(_member(document, "GPUContainerImages")):
        repository = _repository_of(_text(_member(image, "downloadURL")))
        version = _text(_member(_member(image, "gpuVersion"), "latestVersion"))
        parts = version.split("-")
        if len(parts) == VERSION_PARTS:
            images[repository] = (parts[0], parts[1])
    return images


def _repository_of(download_url: str) -> str:
    """Return the last path segment without its tag: .../aks/aks-gpu-grid:* is aks-gpu-grid."""
    return download_url.rpartition("/")[2].partition(":")[0]


def _member(value: Value, name: str) -> Value:
    if value is None:
        return None
    if not isinstance(value, Pairs):
        raise InputError(f"expected an object around {name}")
    # The last of a repeated name counts; names match in any case.
    found: Value = None
    for key, item in value:
        if item is not None and key.casefold() == name.casefold():
            found = item
    return found


def _items(value: Value) -> list[Value]:
    if value is None:
        return []
    if isinstance(value, Pairs) or not isinstance(value, list):
        raise InputError("expected a list of GPUContainerImages")
    return value


def _text(value: Value) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError("expected text in GPUContainerImages")
    return value
