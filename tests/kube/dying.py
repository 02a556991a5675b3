"""An operator that ends at one chosen call to the API server, as if its process was killed."""

import threading
from collections.abc import Mapping
from pathlib import Path

from lightkube.config.kubeconfig import KubeConfig

from fairlead.kube.answer import Answer
from fairlead.kube.client import ANSWER_S, KubeClient


class Killed(SystemExit):
    """Ends a thread without a word, and is no failure of a pass."""


class DyingClient(KubeClient):
    """
    A client whose process ends at the n-th call of a pass, before it is sent or after.

    What comes after that from any thread is not sent: nothing is tidied up.
    """

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(KubeConfig.from_file(kubeconfig))
        self.is_dead = threading.Event()
        self.died_at = ""
        self._left = -1
        self._is_sent = False
        self._lock = threading.Lock()

    def die_at(self, call: int, *, is_sent: bool) -> None:
        """Let it end at this call of a pass, counted from now."""
        with self._lock:
            self._left, self._is_sent = call, is_sent

    def _send(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        seconds: float = ANSWER_S,
    ) -> Answer:
        if self.is_dead.is_set():
            raise Killed
        if not self._is_last():
            return super()._send(method, url, content, headers, seconds)
        self.died_at = f"{method} {url.partition('?')[0]}, {'sent' if self._is_sent else 'unsent'}"
        if self._is_sent:
            super()._send(method, url, content, headers, seconds)
        self.is_dead.set()
        raise Killed

    def _is_last(self) -> bool:
        if not threading.current_thread().name.startswith("worker"):
            return False
        with self._lock:
            self._left -= 1
            return self._left == 0
