"""
Operators that are killed at one chosen call to the API server, each a process of its own.

As a program it is their nursery: it has loaded what an operator needs, and forks one for each line
that it is told, so that nobody waits for Python. Whoever reaches its call, before it is sent or
after, kills itself as `kill -9` would: nothing is tidied up, by no thread.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from lightkube.config.kubeconfig import KubeConfig

from fairlead.kube.answer import Answer
from fairlead.kube.client import ANSWER_S, KubeClient
from fairlead.kube.operator import Operator, Settings
from kube.fleet import NAMESPACE, STUB

TESTS = Path(__file__).parents[1]
LOOKS_EVERY_S = 0.02


@dataclass(frozen=True, kw_only=True)
class Fate:
    """
    When an operator dies: at its n-th call, right before it is sent or right after its answer.

    thread: whose calls count, by the beginning of its name: those of passes, of the lease, or all.
    """

    call: int
    is_sent: bool
    thread: str


class DyingClient(KubeClient):
    """A client whose process dies as it was told to, and says on `tells` at which call."""

    def __init__(self, kubeconfig: Path, fate: Fate, tells: int) -> None:
        super().__init__(KubeConfig.from_file(kubeconfig))
        self._fate = fate
        self._tells = tells
        self._calls = 0
        self._counting = threading.Lock()

    def _send(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        seconds: float = ANSWER_S,
    ) -> Answer:
        thread = threading.current_thread().name
        if not thread.startswith(self._fate.thread):
            return super()._send(method, url, content, headers, seconds)
        with self._counting:
            self._calls += 1
            is_last = self._calls == self._fate.call
        if not is_last:
            return super()._send(method, url, content, headers, seconds)
        if self._fate.is_sent:
            super()._send(method, url, content, headers, seconds)
        sent = "sent" if self._fate.is_sent else "unsent"
        self._die(f"{method} {url.partition('?')[0]}, {thread.partition('-')[0]}, {sent}")
        raise AssertionError("unreached")

    def _die(self, at: str) -> None:
        os.write(self._tells, json.dumps({"process": os.getpid(), "at": at}).encode() + b"\n")
        os.kill(os.getpid(), signal.SIGKILL)


class Nursery:
    """Operators of one cluster. died_at: for each that ended, what its last call was."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kube.dying_operators", str(kubeconfig)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=TESTS,
            text=True,
        )
        self._is_told = threading.Condition()
        self._born: list[int] = []
        self._said: dict[int, str] = {}
        self.died_at: dict[int, str] = {}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def start(self, identity: str, fate: Fate) -> int:
        """Start one; return its process."""
        assert self._process.stdin is not None
        with self._is_told:
            before = len(self._born)
            self._process.stdin.write(json.dumps({"identity": identity, **asdict(fate)}) + "\n")
            self._process.stdin.flush()
            assert self._is_told.wait_for(lambda: len(self._born) > before, 60)
            return self._born[-1]

    def close(self) -> None:
        """Kill all that live. May be called twice."""
        assert self._process.stdin is not None
        if self._log.closed:
            return
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        self._thread.join(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            with self._is_told:
                if "at" in told:
                    self._said[told["process"]] = told["at"]
                elif "status" in told:
                    at = self._said.get(told["process"], f"nowhere, status {told['status']}")
                    self.died_at[told["process"]] = at
                else:
                    self._born.append(told["process"])
                self._is_told.notify_all()


def main(kubeconfig: Path) -> None:
    """Fork an operator for each line, tell of each that ended, and end all with the last line."""
    alive: set[int] = set()
    while True:
        if select.select([0], [], [], LOOKS_EVERY_S)[0]:
            line = sys.stdin.readline()
            if not line:
                break
            alive.add(fork_operator(kubeconfig, json.loads(line)))
        for process in list(alive):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                alive.remove(process)
                tell(process=process, status=status)
    for process in alive:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def fork_operator(kubeconfig: Path, told: dict[str, object]) -> int:
    process = os.fork()
    if process:
        tell(process=process)
        return process
    identity = str(told.pop("identity"))
    client = DyingClient(kubeconfig, Fate(**told), tells=1)  # type: ignore[arg-type]
    settings = Settings(namespace=NAMESPACE, identity=identity, stub=STUB)
    Operator(client, settings, lambda says: say(identity, says)).start()
    while True:
        signal.pause()


def say(identity: str, says: str) -> None:
    sys.stderr.write(f"{identity}: {says}\n")
    sys.stderr.flush()


def tell(**fields: int) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
