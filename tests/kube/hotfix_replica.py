"""A replica of the hotfix service as a process, with the account of its manifests."""

from pathlib import Path

from fairlead.hotfix.publish.depot import Depot
from kube.cluster import LOOPBACK, TestCluster
from kube.processes import HOME, ServingProcess

QUESTION = "/v1/hotfix?component=fairlead-node&version=202611.16.0"


class HotfixReplica(ServingProcess):
    """A replica over a depot. join.key in the directory signs tokens."""

    def __init__(self, cluster: TestCluster, depot: Depot, directory: Path) -> None:
        super().__init__(
            *(cluster, directory, "hotfix", "hotfix", "serve"),
            *("--cluster-ledger", HOME, "--depot", str(depot.directory)),
            *("--join-key", str(directory / "join.key"), "--listen", f"{LOOPBACK}:{{port}}"),
            *("--tls-cert", "{certificate}", "--tls-key", "{key}"),
        )

    def ask(self, token: str, machine: str) -> tuple[int, bytes]:
        """Ask as a machine of the baked image does."""
        return self.request(token, machine, QUESTION)

    def report(self, token: str, machine: str, body: bytes) -> int:
        return self.request(token, machine, "/v1/hotfix-report", body)[0]
