"""
Is somebody there? A socket that accepts, an HTTP server that answers with a status.

`socket` and `ssl` are imported by whoever asks: most boots never do. TLS here always verifies
against the given certificate authority; there is no other way to ask.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable

# A local service accepts at once or is not there.
LOCAL_DEADLINE_S = 1.0

# A status line is 15 bytes and a reason; a server that sends more first is not speaking HTTP.
LONGEST_STATUS_LINE = 4096


def can_connect_unix(path: str) -> bool:
    """Say whether something accepts connections on this socket file."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(LOCAL_DEADLINE_S)
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


def converse_unix(
    path: str, said: bytes, is_whole: Callable[[bytes], bool], deadline_s: float
) -> bytes:
    """
    Say this on a socket file; return what was answered by the time that it is whole.

    Less than that if the other side hangs up. Raises OSError if it takes longer than `deadline_s`.
    """
    # The part of `socket` that calls the system: every boot comes here.
    from _socket import AF_UNIX, SOCK_STREAM
    from _socket import socket as plain_socket

    end = time.monotonic() + deadline_s
    connection = plain_socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(deadline_s)
        connection.connect(path)
        connection.sendall(said)
        answered = b""
        while not is_whole(answered):
            connection.settimeout(max(0.001, end - time.monotonic()))
            part = connection.recv(1 << 16)
            if not part:
                break
            answered += part
        return answered
    finally:
        connection.close()


def http_status(url: str, ca_file: str, certificate_file: str, deadline_s: float) -> int:
    """
    Return the status that a GET of this http:// or https:// address answers with.

    `certificate_file` holds a certificate and its key, or is '' to ask as a stranger. Raises
    OSError if nobody answers in time, and for anything that is not HTTP or not trusted.
    """
    import socket

    end = time.monotonic() + deadline_s
    scheme, host, port, path = _parts_of(url)
    with socket.create_connection((host, port), deadline_s) as connection:
        if scheme == "http":
            return _ask(connection, host, path, end)
        # Lent to a context of its own, whose end closes it whatever happens.
        with _secured(connection, host, ca_file, certificate_file) as secured:
            return _ask(secured, host, path, end)


def _secured(
    connection: socket.socket, host: str, ca_file: str, certificate_file: str
) -> socket.socket:
    context = trusting_context(ca_file=ca_file)
    if certificate_file:
        context.load_cert_chain(certificate_file)
    return context.wrap_socket(connection, server_hostname=host)


def trusting_context(*, ca_file: str = "", ca_text: str = "") -> ssl.SSLContext:
    """
    Return a context that trusts this certificate authority and no other, and verifies names.

    Raises OSError if there is no certificate in the file or in the PEM text.
    """
    import ssl

    # Not create_default_context: with a file it would still add strict rules that the CAs of
    # older clusters do not meet. This one verifies chain and name.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile=ca_file or None, cadata=ca_text or None)
    return context


def _ask(connection: socket.socket, host: str, path: str, end: float) -> int:
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    connection.sendall(request.encode())
    answer = b""
    while b"\n" not in answer:
        connection.settimeout(max(0.001, end - time.monotonic()))
        part = connection.recv(1024)
        answer += part
        if not part or len(answer) > LONGEST_STATUS_LINE:
            break
    return status_of(answer.partition(b"\n")[0], host)


def status_of(line: bytes, host: str) -> int:
    """Return the status of an HTTP status line. Raises OSError if it is none."""
    words = line.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():  # noqa: PLR2004
        raise OSError(f"no HTTP status from {host}")
    return int(words[1])


def _parts_of(url: str) -> tuple[str, str, int, str]:
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    host, _, port = authority.rpartition(":")
    return scheme, host.strip("[]"), int(port), "/" + path
