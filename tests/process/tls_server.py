"""A TLS server on this machine's loopback that answers as a test says, and its certificates."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import pytest

Handler = Callable[[ssl.SSLSocket, bytes], None]


def answer(status: int, body: bytes = b"", *headers: str) -> Handler:
    lines = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(body)}", *headers, "", ""]

    def send(connection: ssl.SSLSocket, _request: bytes) -> None:
        connection.sendall("\r\n".join(lines).encode() + body)

    return send


def raw(content: bytes) -> Handler:
    def send(connection: ssl.SSLSocket, _request: bytes) -> None:
        connection.sendall(content)

    return send


def hang(connection: ssl.SSLSocket, _request: bytes) -> None:
    """Say nothing until the client gives up, ten seconds at most."""
    connection.settimeout(10)
    connection.recv(1)


class Server:
    """Answers connections in order, the last answer for ever; keeps the requests."""

    def __init__(self, pair: Path, handlers: list[Handler]) -> None:
        self.requests: list[bytes] = []
        # False: answers to the header alone, and leaves the rest of a request unread.
        self.takes_bodies = True
        # What clients said that they want, and what was agreed on to be spoken; None: nothing.
        self.asked_names: list[str | None] = []
        self.spoken: list[str | None] = []
        self._handlers = handlers
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pair)
        self._context.sni_callback = self._note_name
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def speak(self, *protocols: str) -> None:
        """Agree on one of these, if a client offers it."""
        self._context.set_alpn_protocols(list(protocols))

    def _note_name(self, _secured: object, name: str | None, _context: object) -> None:
        self.asked_names.append(name)

    def _serve(self) -> None:
        while True:
            try:
                connection = self._socket.accept()[0]
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        try:
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self.spoken.append(secured.selected_alpn_protocol())
                request = read_request(secured, takes_body=self.takes_bodies)
                self.requests.append(request)
                handler = self._handlers.pop(0) if len(self._handlers) > 1 else self._handlers[0]
                handler(secured, request)
                secured.unwrap()
        except OSError:
            return  # the client hung up, which some of these tests are about

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self.port}/v1/node"

    @property
    def report(self) -> str:
        return f"https://127.0.0.1:{self.port}/v1/boot-report"

    def posts(self) -> list[bytes]:
        return [request for request in self.requests if request.startswith(b"POST ")]


def read_request(connection: ssl.SSLSocket, *, takes_body: bool) -> bytes:
    """The request, with its whole body if that is taken."""
    request = b""
    while b"\r\n\r\n" not in request:
        part = connection.recv(4096)
        if not part:
            raise OSError("the client hung up before it asked")
        request += part
    header, _, body = request.partition(b"\r\n\r\n")
    _, found, rest = header.lower().partition(b"content-length:")
    length = int(rest.partition(b"\r\n")[0]) if found and takes_body else 0
    while len(body) < length:
        part = connection.recv(65536)
        if not part:
            raise OSError("the request ends in its body")
        body += part
    return header + b"\r\n\r\n" + body


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def make_pair(directory: Path, name: str, subject: str) -> Path:
    """A CA, and a certificate for the subject that it signed, with its key in one file."""
    if which("openssl") is None:
        pytest.skip("openssl is not installed")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    ca, ca_key = directory / f"{name}-ca.pem", directory / f"{name}-ca.key"
    leaf, leaf_key = directory / f"{name}.pem", directory / f"{name}.key"
    openssl("req", "-x509", *key, "-days", "2", "-subj", f"/CN={name} CA", "-keyout", ca_key,
            "-out", ca)  # fmt: skip
    openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=server", "-keyout", leaf_key,
            "-out", leaf, "-CA", ca, "-CAkey", ca_key, "-addext", f"subjectAltName={subject}",
            "-addext", "basicConstraints=critical,CA:FALSE")  # fmt: skip
    pair = directory / f"{name}-pair.pem"
    pair.write_bytes(leaf.read_bytes() + leaf_key.read_bytes())
    return pair


@contextmanager
def serving(certificates: Path, *handlers: Handler, pair: str = "good") -> Iterator[Server]:
    with Server(certificates / f"{pair}-pair.pem", list(handlers)) as server:
        yield server
