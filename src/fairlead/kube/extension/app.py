"""The door of the hooks: paths, methods and sizes. What is asked is answered in answers.py."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from fairlead.aside import Aside, at_once
from fairlead.errors import UnavailableError
from fairlead.kube.extension.wire import HOOKS, LONGEST_BODY, Hook, failure

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from fairlead.kube.answer import Object
    from fairlead.kube.extension.answers import Answers

NOT_FOUND, NOT_ALLOWED = 404, 405


class ExtensionApp:
    """Answers Cluster API. answered: by hook and status. aside: where hooks are answered."""

    def __init__(self, answers: Answers, aside: Aside = at_once) -> None:
        self._answers = answers
        self._aside = aside
        self.answered: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        hook = HOOKS.get(scope["path"])
        if hook is None or scope["method"] != "POST":
            status = NOT_FOUND if hook is None else NOT_ALLOWED
            # Nobody reads a body here.
            response = Response(b"", status, {"Connection": "close"})
        else:
            try:
                answer = await self._answer(hook, Request(scope, receive))
            except ClientDisconnect:
                return
            self.answered[hook.value, answer["status"]] += 1
            response = Response(msgspec.json.encode(answer), media_type="application/json")
        await response(scope, receive, send)

    async def _answer(self, hook: Hook, request: Request) -> Object:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                return failure(hook, f"the request is longer than {LONGEST_BODY} bytes")
        try:
            return await self._aside(lambda: self._answers.answer(hook, bytes(body)))
        except UnavailableError as error:
            return failure(hook, str(error))
