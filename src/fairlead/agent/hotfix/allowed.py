"""
May this version be installed on this machine? What was signed says so, if the image has an anchor.

A pointer says which version is meant for a node, and anybody on its way may have written it. Where
the image brings a root of trust, verified metadata of this boot, or kept from one, must list it.
"""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.hotfix.image_files import ANCHOR
from fairlead.errors import TrustError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot
    from fairlead.trust.metadata import Package

OURS = "fairlead-node-hotfix"
THEIRS = "aks-node-controller"

# How file names of packages go on after the name: contract of the depot.
SEPARATORS = {"deb": "_", "rpm": "-"}


def package_name(boot: Boot) -> str:
    """Return the name of the packages that fix the baked agent."""
    return THEIRS if boot.foreign_agent else OURS


def refuse_unless_allowed(boot: Boot, version: str) -> None:
    """Return if any package of this version may be installed. Raises TrustError."""
    if is_anchored(boot):
        _find(boot, version, tuple(SEPARATORS))


def signed_package(boot: Boot, version: str, package_format: str) -> Package | None:
    """
    Return how the package of this version is recognised. Raises TrustError if it is not allowed.

    None on an AKS image without an anchor: there the channel and the package's signature count.
    """
    if not is_anchored(boot):
        return None
    return _find(boot, version, (package_format,))


def is_anchored(boot: Boot) -> bool:
    """Say whether this image brings a root of trust. Raises TrustError where it must."""
    if is_regular_file(boot.run.host, ANCHOR):
        return True
    if boot.run.layout.name != "aks":
        raise TrustError(f"this image has no root of trust, so no fix is taken (expected {ANCHOR})")
    boot.run.log("INFO", "no root of trust here: the package's signature is the only proof")
    return False


def _find(boot: Boot, version: str, formats: tuple[str, ...]) -> Package:
    from fairlead.agent.hotfix.asking.trusted import find_verified

    verified = find_verified(boot)
    if verified is None:
        raise TrustError(
            f"{version} is wanted, but no signed metadata allows it "
            "(check-hotfix verifies it; see its cause)"
        )
    targets = verified.targets
    if version in targets.revoked:
        raise TrustError(f"{version} is wanted, but it was withdrawn")
    name = package_name(boot)
    for package in targets.packages:
        beginning = name + SEPARATORS.get(str(package.format), "/")
        is_ours = package.path.rpartition("/")[2].startswith(beginning)
        if is_ours and package.version == version and package.format in formats:
            return package
    raise TrustError(
        f"{version} is wanted, but no {' or '.join(formats)} package {name} of it is signed"
    )
