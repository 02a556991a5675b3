"""
What a service asks itself to know whether it serves: the question that it is there for.

Of a payload service that of a machine. The token is nobody's, so the answer is 511 if everything on
the way works: the port, TLS, the threads, and the copy of the tokens. Of an extension that of
Cluster API, which hooks it answers. Whose certificate is shown does not matter for that.
"""

from __future__ import annotations

import base64
import secrets
import ssl
from http.client import HTTPException, HTTPSConnection

from fairlead.kube.extension.wire import Hook, path_of
from fairlead.payload.answer import NODE_CONFIG_PATH

NOBODYS_TOKEN, WELL = 511, 200
ANSWER_S = 3.0


def problem_of(host: str, port: int) -> str:
    """Return why the payload service at this address does not serve, or ''."""
    token = base64.b64encode(secrets.token_bytes(32)).decode()
    headers = {"Authorization": f"Bearer {token}", "Fairlead-Machine": "readiness"}
    return _asked((host, port), "GET", NODE_CONFIG_PATH, headers, NOBODYS_TOKEN)


def problem_of_extension(host: str, port: int) -> str:
    """Return why the extension at this address does not serve, or ''."""
    return _asked((host, port), "POST", path_of(Hook.DISCOVERY), {}, WELL)


def _asked(
    address: tuple[str, int], method: str, path: str, headers: dict[str, str], expected: int
) -> str:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = HTTPSConnection(*address, timeout=ANSWER_S, context=context)
    try:
        connection.request(method, path, b"{}" if method == "POST" else None, headers)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return f"its own port does not answer: {error!r}"
    finally:
        connection.close()
    return "" if status == expected else f"its own port answers {status}, expected {expected}"
