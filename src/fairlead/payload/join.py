"""
What a machine needs to join its cluster, added to its node config when it is served.

It is no input of a revision: a cluster that renews its certificate authority or its bootstrap
token must replace no machine, and no secret may lie in a revision. What the owner or the platform
put into the node config stays.
"""

import binascii
from dataclasses import dataclass
from typing import Any

AUTH_METHOD = "BOOTSTRAPPING_AUTH_METHOD_BOOTSTRAP_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """
    How a kubelet reaches and trusts its cluster, and proves itself to it for the first time.

    server: NAME:PORT, used only if no input names an API server. ca: PEM.
    """

    server: str
    ca: str
    token: str

    def __repr__(self) -> str:
        return f"Join(server={self.server!r})"


def put_join(document: dict[str, Any], join: Join) -> None:
    """Add what is missing to a node config; what is there already stays."""
    document.setdefault("api_server_config", {}).setdefault("api_server_name", join.server)
    ca = binascii.b2a_base64(join.ca.encode(), newline=False).decode()
    document.setdefault("kubernetes_ca_cert", ca)
    bootstrapping = document.setdefault("bootstrapping_config", {})
    if "tls_bootstrapping_token" not in bootstrapping:
        bootstrapping["bootstrapping_auth_method"] = AUTH_METHOD
        bootstrapping["tls_bootstrapping_token"] = join.token
