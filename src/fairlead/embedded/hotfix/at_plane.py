"""
Hotfixes at a control plane: where its depot is, the service on its payload listener does the rest.

Without a depot there is nothing: no file, no route. A depot that is made while the control plane
runs is found within a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fairlead.contract.boot_report import parse_report
from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.embedded.hotfix.token_verifier import LOCAL_REGION, Bearers, TokenVerifier
from fairlead.errors import FairleadError
from fairlead.hotfix.service.attestation.verifier import Claims

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from fairlead.embedded.hotfix.counted_log import Said
    from fairlead.embedded.hotfix.served_depot import ServedDepot
    from fairlead.embedded.state_directory import StateDirectory
    from fairlead.hotfix.service.standing import Standing

LOOK_EVERY = timedelta(seconds=1)


class HotfixAtPlane:
    """The hotfix service of one control plane. address: machines reach its payloads there."""

    def __init__(
        self,
        directory: StateDirectory,
        bearers: Bearers,
        log: Said,
        address: Callable[[], tuple[str, str]],
    ) -> None:
        self._directory = directory.hotfix
        self._bearers = bearers
        self._log = log
        self._address = address
        self._served: ServedDepot | None = None
        self._look_at: datetime | None = None

    def tick(self) -> None:
        """Find a depot that was made, and do what is due for one that is there."""
        now = datetime.now(UTC)
        if self._look_at is not None and now < self._look_at:
            return
        self._look_at = now + LOOK_EVERY
        if self._served is None:
            self._open()
        if self._served is not None:
            self._served.tick(now)

    def standings(self) -> Mapping[str, Standing]:
        """Return how fixes that come in waves stand, by version."""
        return self._served.standings if self._served is not None else {}

    def _open(self) -> None:
        if not self._has_depot():
            return
        # Here, since what signs and verifies costs a fifth of a second, and most have no depot.
        from fairlead.embedded.hotfix.served_depot import ServedDepot
        from fairlead.hotfix.publish.depot import Depot

        try:
            self._served = ServedDepot(
                Depot(self._directory), [TokenVerifier(self._bearers)], self._log
            )
        except FairleadError as error:
            self._log.trouble("hotfix depot", f"not served, tried again: {error}")
            return
        self._log.is_well("hotfix depot")
        self._log.tell(f"hotfix: serving {self._directory}")

    def _has_depot(self) -> bool:
        return (self._directory / "metadata" / "update.json").is_file()

    def before(self, payloads: ASGIApp) -> ASGIApp:
        """Return an app that answers for a depot that is there, and else as the payloads do."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            served = self._served
            is_ours = served is not None and served.answers(scope["path"])
            await (served.app if served and is_ours else payloads)(scope, receive, send)

        return app

    def count_report(self, pool: str, machine: str, report: bytes) -> None:
        """Count a boot report that the payload service took. It was kept before: nothing raises."""
        if self._served is None:
            return
        from fairlead.hotfix.service.reports import ended_boot

        pointers = self._served.pointers
        claims = Claims(machine=machine, region=LOCAL_REGION, pool=pool)
        try:
            catalog = pointers.shelf.catalog
            ended = ended_boot(parse_report(report), claims, catalog)
            pointers.ledger.count(ended, catalog.fixes, datetime.now(UTC))
        except FairleadError as error:
            self._log.trouble("hotfix ledger", f"a boot was not counted: {error}")

    def forget(self, machine: str) -> None:
        """Note that a machine is gone."""
        if self._served is not None:
            self._served.forget(OUR_COMPONENT, machine)

    def image_files(self) -> dict[str, bytes]:
        """Return what a new machine's image has for fixes."""
        if not self._has_depot():
            return {}
        from fairlead.embedded.hotfix.image_files import image_files
        from fairlead.hotfix.publish.depot import Depot

        return image_files(Depot(self._directory), *self._address())

    async def close(self) -> None:
        """Let go of the depot."""
        if self._served is not None:
            await self._served.rest()
            self._served.close()
            self._served = None
