"""The programs of an installation as processes, each with the account of its manifests."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from ssl import create_default_context
from typing import Any

import yaml

from kube.cluster import LOOPBACK, TestCluster, free_port
from kube.fleet import IN_PLACE_IMAGE, wait_until

OVERLAY = Path(__file__).parents[2] / "deploy" / "kube" / "overlays" / "test-provider"
HOME = "fairlead-system"


def account_of(name: str) -> str:
    return f"system:serviceaccount:{HOME}:{name}"


def kubeconfig_of(cluster: TestCluster, account: str) -> Path:
    """How an account of the manifests reaches the API server, for an hour."""
    token = cluster.kubectl("-n", HOME, "create", "token", account).strip()
    return cluster.kubeconfig_of(account, token)


class Process:
    """`fairlead COMMAND` as this account, with its health at a port of loopback."""

    def __init__(self, cluster: TestCluster, directory: Path, account: str, *words: str) -> None:
        self.metrics = free_port()
        self.log = directory / f"{account}-{self.metrics}.log"
        command = [
            *(sys.executable, "-m", "fairlead", *words),
            *("--kubeconfig", str(kubeconfig_of(cluster, account))),
            *("--metrics", f"{LOOPBACK}:{self.metrics}"),
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection(LOOPBACK, self.metrics, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def wait_until_ready(self) -> None:
        wait_until(lambda: self.get("/readyz")[0] == 200, self.log.read_text)

    def end(self) -> int:
        os.kill(self._process.pid, signal.SIGTERM)
        return self._process.wait(60)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def operator_process(
    cluster: TestCluster, directory: Path, payload: int = 1, words: Iterable[str] = ()
) -> Process:
    """An operator whose machines find the payload service at this port, by a file of its own."""
    authority = directory / "payload-ca.crt"
    authority.write_bytes(cluster.authority.pair.certificate.read_bytes())
    return Process(
        *(cluster, directory, "fairlead-operator", "operator", "--namespace", HOME),
        *("--payload-address", f"https://{LOOPBACK}:{payload}"),
        *("--payload-ca", str(authority)),
        *("--in-place-image", IN_PLACE_IMAGE),
        *("--hotfix-depot", str(directory)),
        *words,
    )


class ServingProcess(Process):
    """
    A replica of a service that machines ask over TLS.

    Words may hold {port}, {certificate} and {key}: its own.
    """

    def __init__(self, cluster: TestCluster, directory: Path, kind: str, *words: str) -> None:
        self.port = free_port()
        self._authority = cluster.authority
        self._name = f"{kind}-{self.port}"
        pair = self.renew()
        places = {"port": self.port, "certificate": pair.certificate, "key": pair.key}
        flags = (word.format(**places) for word in words)
        super().__init__(cluster, directory, f"fairlead-{kind}", *flags)

    def renew(self) -> Any:
        """Put another certificate into its files."""
        return self._authority.server(self._name, [LOOPBACK])

    def request(
        self, token: str, machine: str, path: str, body: bytes | None = None
    ) -> tuple[int, bytes]:
        """Ask as a machine does, with this word as its proof if there is one."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with self._connection() as connection:
            method = "GET" if body is None else "POST"
            connection.request(method, path, body, {**headers, "Fairlead-Machine": machine})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def shown(self) -> bytes:
        """The certificate that it shows."""
        with self._connection() as connection:
            connection.connect()
            found = connection.sock.getpeercert(True)
            assert found is not None
            return bytes(found)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[HTTPSConnection]:
        context = create_default_context(cafile=str(self._authority.pair.certificate))
        connection = HTTPSConnection(LOOPBACK, self.port, context=context, timeout=30)
        try:
            yield connection
        finally:
            connection.close()


class PayloadProcess(ServingProcess):
    """A replica of the payload service."""

    def __init__(self, cluster: TestCluster, directory: Path, words: Iterable[str] = ()) -> None:
        super().__init__(
            *(cluster, directory, "payload", "payload"),
            *("--listen", f"{LOOPBACK}:{{port}}"),
            *("--certificate", "{certificate}", "--key", "{key}"),
            *words,
        )

    def ask(self, token: str, machine: str) -> tuple[int, bytes]:
        return self.request(token, machine, "/v1/node-config")

    def report(self, token: str, machine: str, body: bytes) -> int:
        return self.request(token, machine, "/v1/boot-report", body)[0]


class ExtensionProcess(ServingProcess):
    """A replica of the runtime extension of Cluster API."""

    def __init__(self, cluster: TestCluster, directory: Path) -> None:
        super().__init__(
            *(cluster, directory, "extension", "extension"),
            *("--listen", f"{LOOPBACK}:{{port}}"),
            *("--certificate", "{certificate}", "--key", "{key}"),
        )


# What each account may do that shows whether its rights count. Kinds that every server of these
# tests has: of one that a server does not know, kubectl says no whatever was granted.
RIGHTS = {
    "fairlead-operator": ("list", "noderevisions.fairlead.dev", "-A"),
    "fairlead-payload": ("list", "noderevisions.fairlead.dev", "-A"),
    "fairlead-extension": ("create", "events.events.k8s.io", "-A"),
    "fairlead-hotfix": ("update", "hotfixledgers.fairlead.dev", "-n", HOME),
}


def install(cluster: TestCluster, accounts: Iterable[str] = tuple(RIGHTS)) -> None:
    """
    Apply the manifests, and wait until the rights of these accounts count.

    The operator's need a controller manager, which adds roles together.
    """
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(OVERLAY))
    for account in accounts:
        words = ["auth", "can-i", *RIGHTS[account], f"--as={account_of(account)}"]
        wait_until(partial(said_yes, cluster, words), partial(" ".join, words))


def said_yes(cluster: TestCluster, words: list[str]) -> bool:
    try:
        return cluster.kubectl(*words).strip() == "yes"
    except AssertionError:  # kubectl exits with 1 for no
        return False


def rendered(cluster: TestCluster, folder: Path = OVERLAY) -> list[dict[str, Any]]:
    """What `kubectl kustomize` makes of an overlay."""
    return [one for one in yaml.safe_load_all(cluster.kubectl("kustomize", str(folder))) if one]
