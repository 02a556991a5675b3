"""
Requests to one server over connections that are kept, as one user: HTTP/1.1 by `http.client`.

lightkube reads what a kubeconfig says of certificates and tokens, and shows tokens; its own session
takes three times as long for a request. Calls are safe from several threads: each has a connection
to itself for as long as it asks.
"""

from __future__ import annotations

import base64
import gzip
import re
import select
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from lightkube.config.client_adapter import ExecAuth, user_auth, verify_cluster
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from fairlead.errors import InputError
from fairlead.kube.answer import Answer, Asked, Shown
from fairlead.kube.wire.program_login import ProgramLogin

# Seconds. A connection that was idle for longer may be forgotten by a balancer on the way: the
# least patient ones wait a minute.
IDLE_S = 30.0

# Seconds that a watch waits for its connection.
CONNECT_S = 10.0

# Idle connections at most: a burst of threads leaves no more of them behind.
MOST_IDLE = 20

# What a request may fail with, before the server has said anything that can be understood.
# ValueError: a token with a line end, ConfigError: a token that cannot be had.
FAILURES = (OSError, HTTPException, ValueError, ConfigError, EOFError, zlib.error)

# Bytes of a watch that are taken at once, at most.
PIECE = 1 << 16

# Who asks, in the audit log of the server.
ASKER = "fairlead"

# A path as it may be sent; others are percent-encoded, but for what has a meaning of its own. What
# no header may hold: it would be the end of it.
_PLAIN = re.compile(r"[!-~]+")
_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_AS_IT_IS = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}"

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Stream:
    """
    An answer that goes on. head: what it begins with, and all of one that is none of success.

    socket: what it comes by, for whoever ends it from elsewhere.
    """

    head: Answer
    socket: socket.socket
    _rest: HTTPResponse

    def pieces(self) -> Iterator[bytes]:
        """Yield what the server says, as it comes."""
        while piece := self._rest.read1(PIECE):
            yield piece


class Connections:
    """
    The connections to the server of a kubeconfig.

    Raises InputError if the kubeconfig, or what the environment says of proxies, cannot be used.
    What is asked afterwards raises one of FAILURES.
    """

    def __init__(self, config: SingleConfig) -> None:
        user = config.user or User()
        try:
            self._server = _server_of(config.cluster.server)
            self._proxy = _proxy_to(self._server)
            # It opens files, and names none of them where it cannot.
            self._tls = verify_cluster(config.cluster, user, config.abs_file)
            self._auth: Any = user_auth(user)
            if isinstance(self._auth, ExecAuth) and user.exec is not None:
                self._auth = ProgramLogin(user.exec)
        except (ConfigError, OSError, ValueError) as error:
            raise InputError(f"the kubeconfig cannot be used: {error}") from error
        self._base = self._server.path.rstrip("/")
        self._host = f"Host: {self._server.netloc.rpartition('@')[2]}"
        # Authorities that kubeadm makes lack an identifier that Python 3.13 asks for.
        self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        self._tls.set_alpn_protocols(["http/1.1"])
        self._idle: list[tuple[float, HTTPConnection]] = []  # the one used last comes last
        self._is_closed = False
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        seconds: float,
    ) -> Answer:
        """
        Ask once, or twice if a token is refused and lightkube finds another one.

        seconds: for how long a connection, and each part of the answer, is waited for.
        """
        asked = Asked({**headers, "User-Agent": ASKER, "Accept-Encoding": "gzip"})
        shown = self._shown(asked)
        next(shown)
        while True:
            answer = self._ask(method, path, content, asked.headers, seconds)
            if _is_last(shown, answer):
                return answer

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str], seconds: float) -> Iterator[Stream]:
        """
        Ask for an answer that goes on, over a connection of its own.

        seconds: for how long each part of it is waited for.
        """
        asked = Asked({**headers, "User-Agent": ASKER})
        shown = self._shown(asked)
        next(shown)
        while True:
            connection = self._connected(CONNECT_S)
            try:
                by = connection.sock
                by.settimeout(seconds)
                response = self._exchanged(by, "GET", path, None, asked.headers)
                head = Answer(response.status, response.reason, response.headers)
                if _is_last(shown, head):
                    if not head.is_success:
                        head = replace(head, content=response.read())
                    yield Stream(head, by, response)
                    return
            finally:
                connection.close()

    def close(self) -> None:
        """Close what is idle now, and what is in use once it has been used."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _shown(self, asked: Asked) -> Shown:
        if self._auth is None:
            yield asked
        else:
            yield from self._auth.sync_auth_flow(asked)

    def _ask(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        seconds: float,
    ) -> Answer:
        connection = self._idle_one() or self._connected(seconds)
        try:
            connection.sock.settimeout(seconds)
            response = self._exchanged(connection.sock, method, path, content, headers)
            said = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._give_back(connection)
        if response.headers.get("Content-Encoding") == "gzip":
            said = gzip.decompress(said)
        return Answer(response.status, response.reason, response.headers, said)

    def _idle_one(self) -> HTTPConnection | None:
        """Return a connection that was used before and that the server has not ended."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                since, connection = self._idle.pop()
            if time.monotonic() - since < IDLE_S and _is_silent(connection.sock):
                return connection
            connection.close()

    def _give_back(self, connection: HTTPConnection) -> None:
        with self._lock:
            is_kept = not self._is_closed and len(self._idle) < MOST_IDLE
            if is_kept:
                self._idle.append((time.monotonic(), connection))
        if not is_kept:
            connection.close()

    def _connected(self, seconds: float) -> HTTPConnection:
        through = self._proxy or self._server
        host, port = through.hostname or "", through.port or _PORTS[through.scheme]
        if self._server.scheme == "https":
            connection: HTTPConnection = HTTPSConnection(
                host, port, timeout=seconds, context=self._tls
            )
        else:
            connection = HTTPConnection(host, port, timeout=seconds)
        if self._proxy is not None:
            wanted = self._server.hostname or "", self._server.port or _PORTS[self._server.scheme]
            connection.set_tunnel(*wanted, _shown_to(self._proxy))
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection

    def _exchanged(
        self,
        by: socket.socket,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> HTTPResponse:
        """Ask, and return the answer up to where its content begins."""
        by.sendall(self._request(method, path, content, headers))
        response = HTTPResponse(by, method=method)
        try:
            response.begin()
        except BaseException:
            response.close()
            raise
        return response

    def _request(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]
    ) -> bytes:
        """Return a request as it is sent, in one piece where `http.client` makes two."""
        target = self._base + path
        if not _PLAIN.fullmatch(target):
            target = quote(target, safe=_AS_IT_IS)
        fields = [f"{name}: {value}" for name, value in headers.items()]
        if any(map(_BREAKS.search, fields)):
            raise ValueError("a header holds a control character")
        if content is not None:
            fields.append(f"Content-Length: {len(content)}")
        head = "\r\n".join([f"{method} {target} HTTP/1.1", self._host, *fields, "", ""])
        return head.encode("latin-1") + (content or b"")


def _is_last(shown: Shown, answer: Answer) -> bool:
    """Say whether an answer is the last word, or is to be asked for again with other headers."""
    try:
        shown.send(answer)
    except StopIteration:
        return True
    return False


def _is_silent(by: socket.socket) -> bool:
    """Say whether a connection waits for a request: one that the server ended can be read."""
    poll = select.poll()
    poll.register(by, select.POLLIN)
    return not poll.poll(0)


def _server_of(text: str) -> SplitResult:
    """Return an address. Raises ValueError if it is none."""
    found = urlsplit(text)
    if found.scheme not in _PORTS or not found.hostname or found.port == 0:
        raise ValueError(f"{text[:200]!a} is no address of a server, expected https://HOST:PORT")
    return found


def _proxy_to(server: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment names for a server, or None. Raises ValueError."""
    proxies = getproxies()
    text = proxies.get(server.scheme) or proxies.get("all")
    if not text or proxy_bypass(server.hostname or ""):
        return None
    found = urlsplit(text if "://" in text else f"http://{text}")
    if found.scheme != "http" or not found.hostname:
        where = found.hostname or "no host"
        raise ValueError(
            f"the environment names a proxy by {found.scheme}:// ({where}), expected http://; "
            f"NO_PROXY={server.hostname} goes without"
        )
    return found


def _shown_to(proxy: SplitResult) -> dict[str, str]:
    """Return the headers that a proxy lets somebody through by."""
    if proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
