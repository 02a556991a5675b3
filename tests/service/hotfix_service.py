"""`fairlead hotfix serve` as a process, and machines that ask it over TLS."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

from fairlead.embedded.certificates.authority import make_or_read
from fairlead.hotfix.publish.depot import Depot

QUESTION = "/v1/hotfix?component=fairlead-node&version=202611.16.0"
ADDRESS = re.compile(r"at https://127\.0\.0\.1:(\d+)/v1/hotfix")


class HotfixProcess:
    """A running service over a depot. What it says is in `log`."""

    def __init__(self, directory: Path, depot: Depot, workers: int, *more: str) -> None:
        certificates = directory / "certificates"
        certificates.mkdir()
        made = make_or_read(certificates)
        self.tls = ssl.create_default_context(cadata=made.ca_pem)
        self.log = directory / "serve.log"
        words = [
            *(sys.executable, "-m", "fairlead", "hotfix", "serve", "--depot", str(depot.directory)),
            *("--listen", "127.0.0.1:0", "--workers", str(workers)),
            *("--tls-cert", str(made.certificate_file), "--tls-key", str(made.key_file), *more),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, cwd=directory)
        self.port = self._wait_for_port()

    def _wait_for_port(self) -> int:
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            if found := ADDRESS.search(self.log.read_text()):
                return int(found[1])
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def workers(self) -> list[int]:
        """The processes that answer."""
        process = self.process.pid
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
        return [int(word) for word in text.split()]

    def ask_all(self, heads: list[bytes]) -> list[tuple[int, bytes]]:
        """Send all of these requests at once, each on a connection of its own."""

        async def together() -> list[tuple[int, bytes]]:
            return list(await asyncio.gather(*(self._ask(head) for head in heads)))

        return asyncio.run(asyncio.wait_for(together(), 60))

    async def _ask(self, request: bytes) -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls)
        try:
            writer.write(request)
            answer = await reader.read()
        finally:
            writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def stop(self) -> int:
        """End it in order; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def kill(self) -> None:
        """Whatever is left of it."""
        for process in self.workers() if self.process.poll() is None else []:
            os.kill(process, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def request(
    path: str = QUESTION, *, machine: str = "", proof: str = "", body: bytes = b""
) -> bytes:
    """One request as an agent sends it."""
    lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"Authorization: Bearer {proof}"] if proof else []
    lines += [f"Fairlead-Machine: {machine}"] if machine else []
    lines += [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body
