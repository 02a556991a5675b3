"""A client that gives answers as the JSON that was sent, and sends whatever a test wants."""

from __future__ import annotations

import json
from typing import Any

from fairlead.embedded.serve.client import GOOD, Client


class RawClient(Client):
    """The client of commands, without the types of its answers."""

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the JSON of an answer. Raises what the control plane raised."""
        status, text = self._answer_of(method, path, body)
        if status not in GOOD:
            raise self._raised(status, text)
        return json.loads(text)
