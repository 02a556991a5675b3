"""
One operator acts at a time: whoever holds the Lease, by its own clock.

A holder counts as one only while its last renewal is younger than RENEW_S, measured from before it
was sent, so it stops before anybody else may begin. Others take over when they have seen no renewal
for the lease's whole length, by their own clocks: nobody compares clocks of two machines. A clock
that runs wrong can still let two act at once, so writes that matter carry the version of what they
were decided from, and the server refuses the second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from fairlead.errors import ConflictError, FairleadError, UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.resource import LEASES

# Seconds, as Kubernetes' own components have them.
LENGTH_S = 15
RENEW_S = 10.0
AGAIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which Lease it is about, and who wants it."""

    namespace: str
    name: str
    holder: str


class Elector:
    """
    Tries to hold one Lease. clock: monotonic seconds, an argument so that tests can bend it.

    tell: takes what goes wrong, in words.
    """

    def __init__(
        self,
        client: KubeClient,
        place: Place,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._place = place
        self._tell = tell
        self._clock = clock
        self._held_until = float("-inf")
        self._seen: tuple[str, str] = ("", "")  # holder and renewal of somebody else
        self._seen_at = float("-inf")

    @property
    def is_leader(self) -> bool:
        """Whether this process may act at this moment."""
        return self._clock() < self._held_until

    def try_once(self) -> bool:
        """Renew, or take what nobody renews; return whether this process may act."""
        begun = self._clock()
        try:
            held = self._take(begun)
        except (ConflictError, UnavailableError) as error:
            # Somebody else was faster, or nobody answers: what is held ends by itself.
            self._tell(f"the lease {self._place.name} was not renewed: {error}")
            return self.is_leader
        self._held_until = begun + RENEW_S if held else float("-inf")
        return held

    def release(self) -> None:
        """Let somebody else take over at once; call it when nothing acts any more."""
        was_leader = self.is_leader
        self._held_until = float("-inf")
        if not was_leader:
            return
        try:
            found = self._client.find(LEASES, self._place.name, self._place.namespace)
            if found and found["spec"].get("holderIdentity") == self._place.holder:
                self._client.replace(LEASES, self._written(found, holder=""))
        except FairleadError as error:
            self._tell(f"the lease {self._place.name} was not given back: {error}")

    def run(self, is_stopping: threading.Event) -> None:
        """Try again and again until told to stop."""
        while not is_stopping.is_set():
            try:
                self.try_once()
            except FairleadError as error:
                self._tell(f"the lease {self._place.name} cannot be had: {error}")
            is_stopping.wait(AGAIN_S)
        self.release()

    def _take(self, now: float) -> bool:
        found = self._client.find(LEASES, self._place.name, self._place.namespace)
        if found is None:
            self._client.create(LEASES, self._written(None, holder=self._place.holder))
            return True
        holder = found["spec"].get("holderIdentity") or ""
        if holder not in ("", self._place.holder) and not self._has_lapsed(found, now):
            return False
        self._client.replace(LEASES, self._written(found, holder=self._place.holder))
        return True

    def _has_lapsed(self, found: Object, now: float) -> bool:
        """Say whether no renewal of somebody else's was seen for its whole length."""
        spec = found["spec"]
        seen = (spec.get("holderIdentity", ""), spec.get("renewTime", ""))
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        return now - self._seen_at > float(spec.get("leaseDurationSeconds") or LENGTH_S)

    def _written(self, found: Object | None, *, holder: str) -> Object:
        # Wall time is for people: nobody decides by it.
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = found["spec"] if found else {}
        changes = int(before.get("leaseTransitions") or 0)
        is_other = found is not None and holder != "" and before.get("holderIdentity") != holder
        spec = {
            **before,
            "holderIdentity": holder,
            "leaseDurationSeconds": LENGTH_S,
            "renewTime": moment,
            "leaseTransitions": changes + is_other,
        }
        if is_other or found is None:
            spec["acquireTime"] = moment
        metadata = (
            found["metadata"]
            if found
            else {"name": self._place.name, "namespace": self._place.namespace}
        )
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": spec,
        }
