"""
Secrets are taken out of every text before it leaves the process.

The log, the events, the status and the flight record all write through one Redactor. It learns
the values when the node config or the NBC command is read, which is before anything could
repeat them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MASK = "[secret]"


class Redactor:
    """Knows the secret values of this run."""

    __slots__ = ("_secrets",)

    def __init__(self) -> None:
        self._secrets: list[str] = []

    def learn(self, spellings: list[str]) -> None:
        """Mask these from now on; contract/node_secrets.py knows how a secret can be spelt."""
        # Longest first: a secret that contains another must go whole.
        self._secrets = sorted({*self._secrets, *spellings}, key=len, reverse=True)

    def clean(self, text: str) -> str:
        """Return the text with every known secret masked."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return text


class RedactedLines:
    """Passes a byte stream on line by line, so that a secret split between reads is still seen."""

    __slots__ = ("_pending", "_redactor", "_write")

    # A line without an end is passed on at this size; no secret of the contract is longer.
    LONGEST_LINE = 1 << 20

    def __init__(self, redactor: Redactor, write: Callable[[str], None]) -> None:
        self._redactor = redactor
        self._write = write
        self._pending = b""

    def feed(self, part: bytes) -> None:
        """Take a part of the stream."""
        self._pending += part
        end = self._pending.rfind(b"\n") + 1
        if end or len(self._pending) > self.LONGEST_LINE:
            end = end or len(self._pending)
            self._pass_on(self._pending[:end])
            self._pending = self._pending[end:]

    def close(self) -> None:
        """Pass on what is left."""
        if self._pending:
            self._pass_on(self._pending + b"\n")
            self._pending = b""

    def _pass_on(self, lines: bytes) -> None:
        text = lines.decode("utf-8", "replace")
        self._write(self._redactor.clean(text))
