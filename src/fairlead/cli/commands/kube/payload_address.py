"""
Where machines reach the payload service, and the authority that they trust it by.

The authority is a file that somebody may replace while the operator runs: a Secret that is mounted.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

from fairlead.embedded.serve.log import Log
from fairlead.embedded.serve.reloading import LOOK_S
from fairlead.errors import InputError
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.operator import Operator
from fairlead.telling.errno_text import problem_text


class PayloadAddress:
    """The address and the file of one operator. address: '' if only the platform says it."""

    def __init__(self, address: str, authority: Path | None) -> None:
        self._address = address.rstrip("/")
        self._authority = authority
        self._known = ""

    def read(self) -> Stub:
        """Return both as they are now. Raises InputError for a file that holds no certificate."""
        if not self._address:
            return Stub()
        ca = self._authority.read_text("ascii", "replace") if self._authority else ""
        if ca and ca != self._known:
            _refuse_unusable(ca, str(self._authority))
        self._known = ca
        return Stub(
            endpoint=f"{self._address}/v1/node-config",
            report=f"{self._address}/v1/boot-report",
            ca=ca,
        )


async def follow_address(
    address: PayloadAddress, operator: Operator, log: Log, is_over: asyncio.Event
) -> None:
    """Tell an operator what machines are to trust, until it is over; a bad file changes nothing."""
    while not is_over.is_set():
        try:
            if operator.reach_by(address.read()):
                log.tell("authority: machines that boot from here on trust another one")
            log.is_well("authority")
        except (InputError, OSError) as error:
            log.trouble(
                "authority", f"not read, machines trust the one before: {problem_text(error)}"
            )
        with suppress(TimeoutError):
            await asyncio.wait_for(is_over.wait(), LOOK_S)


def _refuse_unusable(ca: str, where: str) -> None:
    try:
        ssl.create_default_context(cadata=ca)
    except (ssl.SSLError, ValueError) as error:
        raise InputError("holds no certificate, PEM", field=where) from error
