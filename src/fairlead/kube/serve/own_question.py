"""
What a payload service asks itself to know whether it serves: the question of a machine.

The token is nobody's, so the answer is 511 if everything on the way works: the port, TLS, the
threads, and the copy of the tokens. Whose certificate is shown does not matter for that.
"""

from __future__ import annotations

import base64
import secrets
import ssl
from http.client import HTTPException, HTTPSConnection

from fairlead.payload.answer import NODE_CONFIG_PATH

NOBODYS_TOKEN = 511
ANSWER_S = 3.0


def problem_of(host: str, port: int) -> str:
    """Return why the payload service at this address does not serve, or ''."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = HTTPSConnection(host, port, timeout=ANSWER_S, context=context)
    token = base64.b64encode(secrets.token_bytes(32)).decode()
    headers = {"Authorization": f"Bearer {token}", "Fairlead-Machine": "readiness"}
    try:
        connection.request("GET", NODE_CONFIG_PATH, headers=headers)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return f"its own port does not answer: {error!r}"
    finally:
        connection.close()
    return "" if status == NOBODYS_TOKEN else f"its own port answers {status}, expected 511"
