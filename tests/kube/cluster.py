"""
A real API server with its etcd on loopback, started by a test in about three seconds.

What a test opts into comes on top: the controller manager. Everything lies in one directory, logs
included, and ends with the test. Nothing listens beyond 127.0.0.1.
"""

import contextlib
import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from urllib.request import Request, urlopen

from kube.built_tools import built_tool
from kube.certificates import Authority, Pair, write_kubeconfig

LOOPBACK = "127.0.0.1"

# Below those that the kernel gives to whoever asks for any: between being free and being listened
# on, a port of the kernel's was given to another cluster, whose authority nobody here trusts. Each
# worker has its own, and begins elsewhere than the one before it on this computer.
FIRST_PORT, PORTS_OF_EACH, ALONE = 20_000, 1_500, 7
_ports = itertools.count(os.getpid())
HOSTS = [LOOPBACK, "localhost", "kubernetes", "kubernetes.default.svc", "10.0.0.1"]

# Seconds. Three on an idle machine; CI runs other tests beside it.
READY_DEADLINE_S = 120

# What the programs may let lie before they look for it, in percent of what they need, up to so much
# memory for each. As they come, an API server under load uses a third of its CPU for that.
GOGC = "400"
GOMEMLIMIT = "4GiB"


class TestCluster:
    """One API server and its etcd. `start` and `stop` belong together; see `running_cluster`."""

    __test__ = False

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.authority = Authority(directory)
        self.url = f"https://{LOOPBACK}:{free_port()}"
        self.audit_log = directory / "audit.log"
        self._admin = self.authority.client("admin", "admin", "system:masters")
        self.admin = self.kubeconfig_of("admin", self._admin)
        self._etcd_url = f"http://{LOOPBACK}:{free_port()}"
        self._etcd_peer = f"http://{LOOPBACK}:{free_port()}"
        self._server = self.authority.server("kube-apiserver", HOSTS)
        self._signing, self._verifying = self.authority.key_pair("service-account")
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start both and wait until the API server says that it is ready."""
        self._start_etcd()
        self.start_server()

    def start_server(self) -> None:
        """Start the API server; after `kill_server` it comes back at the same address."""
        policy = self.directory / "audit-policy.yaml"
        policy.write_text(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
            "omitStages: [RequestReceived, ResponseStarted]\nrules: [{level: Metadata}]\n"
        )
        self.run(
            "kube-apiserver",
            f"--etcd-servers={self._etcd_url}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={self.url.rpartition(':')[2]}",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self._server.certificate}",
            f"--tls-private-key-file={self._server.key}",
            f"--client-ca-file={self.authority.pair.certificate}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._verifying}",
            f"--service-account-signing-key-file={self._signing}",
            "--authorization-mode=Node,RBAC",
            "--enable-bootstrap-token-auth",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged",
            "--profiling=false",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.audit_log}",
        )
        self._wait_until_ready()

    def start_controller_manager(self, controllers: str = "*,bootstrapsigner,tokencleaner") -> None:
        """Start what makes service accounts, collects garbage and signs certificates."""
        pair = self.authority.client("controller-manager", "system:kube-controller-manager")
        self.run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig_of('controller-manager', pair)}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={free_port()}",
            f"--service-account-private-key-file={self._signing}",
            f"--root-ca-file={self.authority.pair.certificate}",
            f"--cluster-signing-cert-file={self.authority.pair.certificate}",
            f"--cluster-signing-key-file={self.authority.pair.key}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            f"--controllers={controllers}",
        )

    def kubeconfig_of(self, name: str, user: Pair | str) -> Path:
        """A kubeconfig of somebody with a certificate of this cluster, or a token."""
        return write_kubeconfig(
            self.directory / f"{name}.kubeconfig", self.url, self.authority, user
        )

    def kubectl(self, *words: str, said: str = "") -> str:
        """Run kubectl as the administrator and return what it printed; it must succeed."""
        command = [str(built_tool("kubectl")), f"--kubeconfig={self.admin}", *words]
        ran = subprocess.run(
            command, input=said, capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == 0, f"kubectl {' '.join(words)}: {ran.stderr}"
        return ran.stdout

    def run(self, program: str, *arguments: str) -> None:
        """Start a program of the cluster; what it says is in PROGRAM.log."""
        with (self.directory / f"{program}.log").open("ab") as log:
            self._running[program] = subprocess.Popen(
                [str(built_tool(program)), *arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "GOGC": GOGC, "GOMEMLIMIT": GOMEMLIMIT},
                start_new_session=True,
            )

    def cpu_seconds(self) -> dict[str, float]:
        """CPU seconds that each program used until now."""
        used = {}
        for program, process in self._running.items():
            with contextlib.suppress(OSError):
                stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                used[program] = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        return used

    def kill_server(self) -> None:
        """Let the API server die, as with its machine."""
        self._end("kube-apiserver", signal.SIGKILL)

    @contextlib.contextmanager
    def silent_server(self) -> Iterator[None]:
        """Let the API server take connections and answer nobody, for as long as the block runs."""
        process = self._running["kube-apiserver"].pid
        os.killpg(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(process, signal.SIGCONT)

    def forget_history(self, version: str) -> None:
        """Let the server lose all changes before this version, as after some minutes."""
        body = json.dumps({"revision": version, "physical": True}).encode()
        self.kill_server()
        asked = Request(f"{self._etcd_url}/v3/kv/compaction", body, method="POST")  # noqa: S310
        with urlopen(asked, timeout=10) as answer:  # noqa: S310 - loopback
            assert answer.status == 200
        self.start_server()

    def stop(self) -> None:
        """End everything, the youngest first."""
        for program in reversed(list(self._running)):
            self._end(program, signal.SIGKILL if program == "etcd" else signal.SIGTERM)

    def _end(self, program: str, number: signal.Signals) -> None:
        process = self._running.pop(program, None)
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)

    def _start_etcd(self) -> None:
        self.run(
            "etcd",
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={self._etcd_peer}",
            f"--initial-advertise-peer-urls={self._etcd_peer}",
            f"--initial-cluster=default={self._etcd_peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + READY_DEADLINE_S
        while time.monotonic() < end:
            if self._running["kube-apiserver"].poll() is not None:
                break
            with contextlib.suppress(OSError):
                if self._is_ready():
                    return
            time.sleep(0.05)
        said = (self.directory / "kube-apiserver.log").read_text()[-2000:]
        raise AssertionError(f"the API server did not get ready: {said}")

    def _is_ready(self) -> bool:
        context = ssl.create_default_context(cafile=str(self.authority.pair.certificate))
        context.load_cert_chain(self._admin.certificate, self._admin.key)
        host, _, port = self.url.removeprefix("https://").partition(":")
        connection = HTTPSConnection(host, int(port), context=context, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().read() == b"ok"
        finally:
            connection.close()


@contextlib.contextmanager
def running_cluster(directory: Path) -> Iterator[TestCluster]:
    """A cluster for as long as the block runs."""
    cluster = TestCluster(directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def free_port() -> int:
    """A port of loopback that nobody listens on at this moment, and none of other workers."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    first = FIRST_PORT + PORTS_OF_EACH * (int(worker.removeprefix("gw")) if worker else ALONE)
    while True:
        port = first + next(_ports) % PORTS_OF_EACH
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((LOOPBACK, port))
            return port
