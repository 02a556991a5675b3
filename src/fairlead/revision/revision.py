"""
A revision: everything that one generation of machines is made from. It never changes.

The hashes say whether two revisions mean the same; the id only names the secrets and stamps the
machines. Under another hash scheme the hashes of a stored revision are taken anew and its id
stays, since machines and templates refer to it.
"""

import enum
from dataclasses import dataclass

from fairlead.inputs.leaf import Leaves


class SecretContent(enum.Enum):
    """What a changed pull secret or trust bundle means; the pool's secretContent."""

    IGNORE = "Ignore"
    DRIFT = "Drift"
    ROLL = "Roll"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """
    Both hashes, the inputs behind them, and what they render to.

    `leaves` holds every input, also those that no hash covers at present, so that a later scheme
    or another secretContent can be judged from what was stored. `force` is the request that this
    revision answers, part of the id only: a forced rollout has equal hashes. `spelling` is how
    leaves were spelled when it was made, see spelling.py.
    """

    id: str
    scheme: int
    intent_hash: str
    platform_hash: str
    leaves: Leaves
    node_config: str
    content: SecretContent = SecretContent.IGNORE
    force: str = ""
    spelling: int = 1

    def __str__(self) -> str:
        return self.id

    @property
    def version(self) -> str:
        """The Kubernetes version of the machines."""
        return str(self.leaves.get("release.version", ""))

    @property
    def release_digest(self) -> str:
        """The digest that the version resolved to, or ''."""
        return str(self.leaves.get("release.digest", ""))

    @property
    def machine_template(self) -> Leaves:
        """The machine-template fields that the owner set."""
        prefix = "machineTemplate."
        return {
            path.removeprefix(prefix): value
            for path, value in self.leaves.items()
            if path.startswith(prefix)
        }


def means_the_same(one: Revision, other: Revision) -> bool:
    """Say whether machines of the two would be made from equal inputs."""
    return (one.scheme, one.intent_hash, one.platform_hash) == (
        other.scheme,
        other.intent_hash,
        other.platform_hash,
    )
