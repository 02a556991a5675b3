"""A replica of the hotfix service as a process, with the account of its manifests."""

from pathlib import Path

import grpc

from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.service.grpc_message import METHOD
from kube.cluster import LOOPBACK, TestCluster, free_port
from kube.processes import HOME, ServingProcess

# A request of protobuf: component_name, the first field, is aksNodeController.
AKS = b"\x0a\x11aksNodeController"

QUESTION = "/v1/hotfix?component=fairlead-node&version=202611.16.0"


class HotfixReplica(ServingProcess):
    """A replica over a depot. join.key in the directory signs tokens. grpc: its port for gRPC."""

    def __init__(self, cluster: TestCluster, depot: Depot, directory: Path) -> None:
        self.grpc = free_port()
        super().__init__(
            *(cluster, directory, "hotfix", "hotfix", "serve"),
            *("--cluster-ledger", HOME, "--depot", str(depot.directory)),
            *("--join-key", str(directory / "join.key"), "--listen", f"{LOOPBACK}:{{port}}"),
            *("--tls-cert", "{certificate}", "--tls-key", "{key}"),
            *("--grpc", f"{LOOPBACK}:{self.grpc}"),
        )

    def ask(self, token: str, machine: str) -> tuple[int, bytes]:
        """Ask as a machine of the baked image does."""
        return self.request(token, machine, QUESTION)

    def ask_by_grpc(self, token: str, machine: str = "", version: str = "") -> tuple[str, bytes]:
        """Ask over the wire of AKS: the name of the code, and the message or the sentence."""
        said = {"fairlead-machine": machine, "fairlead-version": version}
        metadata = [
            ("authorization", token),
            *((name, text) for name, text in said.items() if text),
        ]
        root = self._authority.pair.certificate.read_bytes()
        where, credentials = f"{LOOPBACK}:{self.grpc}", grpc.ssl_channel_credentials(root)
        with grpc.secure_channel(where, credentials) as channel:
            try:
                asked = channel.unary_unary(METHOD)(AKS, timeout=10, metadata=metadata)
            except grpc.RpcError as error:
                return error.code().name, error.details().encode()
            return "OK", asked

    def report(self, token: str, machine: str, body: bytes) -> int:
        return self.request(token, machine, "/v1/hotfix-report", body)[0]
