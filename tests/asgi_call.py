"""One request to an ASGI app, without a socket: for tests that make thousands."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp


def ask(
    app: ASGIApp,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes = b"",
    **scope_besides: Any,
) -> tuple[int, bytes]:
    """Return status and body of the answer. scope_besides: what a server of ours puts there."""
    sent: list[Any] = []
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        **scope_besides,
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(_call(app, scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


async def _call(app: ASGIApp, scope: Any, receive: Any, send: Any) -> None:
    await app(scope, receive, send)
