"""
Install a fix in a directory that stands for a machine: fetched over HTTPS, unpacked without root.

The package comes from the service that the boot document names. Its signed length and digest are
all that is believed. It is unpacked beside its place and takes its name in one rename.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.host import is_executable_file
from fairlead.agent.hotfix.allowed import signed_package
from fairlead.agent.hotfix.image_files import PREFIX, PROGRAM
from fairlead.agent.hotfix.step import left_s, run_step, try_step
from fairlead.errors import TrustError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot
    from fairlead.trust.metadata import Package

UNPACKED = f"{PREFIX}/.unpacked"
OK = 200


def install_directly(boot: Boot, version: str) -> str:
    """Afterwards the files of this version are below its prefix; return that in words."""
    if boot.foreign_agent:
        raise UnavailableError("a directory that stands for a machine takes no fix of AKS's agent")
    package = signed_package(boot, version, "deb")
    place = f"{PREFIX}/{version}"
    if is_executable_file(boot.run.host, f"{place}/{PROGRAM}"):
        return f"{version} was installed already"
    if package is None:
        raise TrustError("a package that nobody signed for us is not unpacked (no root of trust)")
    body = _fetch(boot, package)
    _unpack(boot, body, version)
    return f"{version} unpacked"


def _fetch(boot: Boot, package: Package) -> bytes:
    from hashlib import sha256

    from fairlead.agent.control_plane import request_of
    from fairlead.contract.boot_document import parse_boot_document
    from fairlead.contract.hotfix.answer import DEPOT_PATH

    text = find_file(boot.run.host, boot.run.layout.boot_document)
    if text is None:
        raise UnavailableError("no boot document names the service that has the package")
    document = parse_boot_document(text)
    authority = document.endpoint.removeprefix("https://").partition("/")[0]
    address = f"https://{authority}{DEPOT_PATH}/{package.path}"
    boot.doing(f"downloading {address}")
    request = request_of(boot.run, document, address)
    try:
        status, body = boot.run.host.fetch(request, deadline_s=left_s(boot))
    except OSError as error:
        raise UnavailableError(f"no package from {address}: {error}") from error
    if status != OK:
        raise UnavailableError(f"no package from {address}: status {status}")
    found = sha256(body).hexdigest()
    if len(body) != package.length or found != package.sha256:
        raise TrustError(
            f"{address} is not the package that was signed: {len(body)} bytes with sha256 "
            f"{found[:16]}, expected {package.length} bytes with {str(package.sha256)[:16]}"
        )
    return body


def _unpack(boot: Boot, body: bytes, version: str) -> None:
    boot.doing(f"unpacking {version}")
    host = boot.run.host
    unpacked = host.real_path(UNPACKED)
    archive = f"{PREFIX}/.package.deb"
    try_step(boot, ["rm", "-rf", unpacked])
    host.make_directory(UNPACKED)
    try:
        host.write_file(archive, body, 0o600, sync=False)
        run_step(boot, ["dpkg-deb", "--extract", host.real_path(archive), unpacked])
        inner = f"{UNPACKED}{PREFIX}/{version}"
        if not is_executable_file(host, f"{inner}/{PROGRAM}"):
            raise UnavailableError(
                f"the package of {version} holds no {PREFIX}/{version}/{PROGRAM}"
            )
        # What an interrupted attempt left there has no program, or it would be taken as it is.
        try_step(boot, ["rm", "-rf", host.real_path(f"{PREFIX}/{version}")])
        host.rename(inner, f"{PREFIX}/{version}")
        host.sync_directory(PREFIX)
    finally:
        try_step(boot, ["rm", "-rf", unpacked, host.real_path(archive)])
