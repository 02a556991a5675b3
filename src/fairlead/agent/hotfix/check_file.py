"""Is a downloaded package the one that was signed, and does it keep off the baked agent?"""

from __future__ import annotations

from fairlead.errors import TrustError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot
    from fairlead.trust.metadata import Package

PIECE = 1 << 20


def refuse_other_bytes(boot: Boot, path: str, package: Package) -> None:
    """Return if the file has the signed length and digest. Raises TrustError."""
    import posix as os
    from hashlib import sha256

    digest, size = sha256(), 0
    # A package may be larger than what the agent reads whole.
    descriptor = os.open(boot.run.host.real_path(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        length = package.length or 0
        while size <= length and (part := os.read(descriptor, PIECE)):
            digest.update(part)
            size += len(part)
    finally:
        os.close(descriptor)
    if size != package.length or digest.hexdigest() != package.sha256:
        raise TrustError(
            f"{path} is not the package that was signed: {size} bytes with sha256 "
            f"{digest.hexdigest()[:16]}, expected {package.length} bytes with "
            f"{str(package.sha256)[:16]}"
        )


def refuse_baked_files(boot: Boot, paths: list[str]) -> None:
    """Return if none of these files of a package is the baked agent's. Raises TrustError."""
    baked = boot.run.layout.baked_agent
    for path in paths:
        absolute = "/" + path.lstrip("./")
        if absolute == baked or absolute.startswith(f"{baked}.d/"):
            raise TrustError(f"the package would replace {absolute}, a file of the baked agent")
