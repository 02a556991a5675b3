"""
What a machine needs to join its cluster, added to its node config when it is served.

It is no input of a revision: a cluster that renews its certificate authority or its bootstrap
token must replace no machine, and no secret may lie in a revision. What the owner or the platform
put into the node config stays.
"""

import binascii
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

AUTH_METHOD = "BOOTSTRAPPING_AUTH_METHOD_BOOTSTRAP_TOKEN"

# From the fetch until the kubelet has a certificate of its own: minutes, on a slow image too.
BOOTSTRAP_LIFE = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """
    How a kubelet reaches and trusts its cluster, and proves itself to it for the first time.

    server: NAME:PORT, used only if no input names an API server. ca: PEM. token: a bootstrap
    token of Kubernetes, ID.SECRET.
    """

    server: str
    ca: str
    token: str

    def __repr__(self) -> str:
        return f"Join(server={self.server!r})"


class Joins(Protocol):
    """Where machines join, and who gives them what they join with. May raise UnavailableError."""

    def admit(self, pool: str, machine: str, until: datetime) -> Join:
        """
        Return how this machine joins, with a bootstrap token that was given to nobody else.

        It ends at `until`, and one that the machine was given before ends now.
        """

    def dismiss(self, pool: str, machine: str) -> None:
        """Afterwards no bootstrap token of this machine counts: it has joined, or will not."""


def put_join(document: dict[str, Any], join: Join) -> None:
    """Add what is missing to a node config; what is there already stays."""
    document.setdefault("api_server_config", {}).setdefault("api_server_name", join.server)
    ca = binascii.b2a_base64(join.ca.encode(), newline=False).decode()
    document.setdefault("kubernetes_ca_cert", ca)
    bootstrapping = document.setdefault("bootstrapping_config", {})
    if "tls_bootstrapping_token" not in bootstrapping:
        bootstrapping["bootstrapping_auth_method"] = AUTH_METHOD
        bootstrapping["tls_bootstrapping_token"] = join.token
