"""Whether a process lives and is ready, and its metrics, for the kubelet and for Prometheus."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fairlead.errors import FairleadError
from fairlead.kube.client import KubeClient

# Seconds until a request must be there; who asks is in the cluster.
ASK_S = 5.0

OK, UNAVAILABLE, NOT_FOUND = 200, 503, 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is answered. dead, unready: why, or ''. Asked by several threads."""

    dead: Callable[[], str]
    unready: Callable[[], str]
    metrics: Callable[[], str]

    def answer(self, path: str) -> tuple[int, str]:
        """Return status and text."""
        if path == "/metrics":
            return OK, self.metrics()
        asked = {"/healthz": self.dead, "/readyz": self.unready}.get(path)
        if asked is None:
            return NOT_FOUND, "not found\n"
        problem = asked()
        return (UNAVAILABLE, f"{problem}\n") if problem else (OK, "ok\n")


class HealthServer:
    """Answers on one address until it is closed. Raises OSError if that is taken."""

    def __init__(self, host: str, port: int, health: Health) -> None:
        class Handler(BaseHTTPRequestHandler):
            """One request."""

            timeout = ASK_S

            def do_GET(self) -> None:
                """Answer."""
                status, text = health.answer(self.path.partition("?")[0])
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: probes come every few seconds."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def server_problem(client: KubeClient) -> str:
    """Return why the API server gives this process nothing at this moment, or ''."""
    try:
        client.read("/version")
    except FairleadError as error:
        return str(error)
    return ""
