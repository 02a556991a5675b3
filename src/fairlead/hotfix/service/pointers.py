"""
What a machine that asks for a pointer is answered, whatever wire it came over.

First who asks: a bad proof learns nothing else. Then, for each base, the newest published fix whose
campaign takes this machine. Where none does and one was withdrawn or halted, a tombstone: it takes
away what custom data or an earlier answer delivered, which a machine would use again at its next
boot. In a region that was switched off every base with a fix has one.

Only a fix of the machine's own base, above what its image brought, can be used by it, so only that
one is offered and counted. The others are named as they would apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.contract.image_version import base_of, may_upgrade
from fairlead.errors import UnavailableError
from fairlead.hotfix.campaign import is_meant
from fairlead.hotfix.catalog import COMPONENTS, Fix, State
from fairlead.hotfix.service.asked import Question, Reply, Status
from fairlead.hotfix.service.attestation.verifier import AttestationVerifier, Claims
from fairlead.hotfix.service.ledger import Asker, Ledger
from fairlead.hotfix.service.proofs import Proofs, Refusal
from fairlead.hotfix.service.shelf import Hotfixes, Shelf
from fairlead.hotfix.service.standing import Standing

# How old what is known of campaigns may be; offers are decided by the ledger itself.
READ_EVERY = timedelta(milliseconds=250)

LONGEST_VERSION = 40

SENTENCES = {
    Status.UNAUTHENTICATED: "the proof does not hold",
    Status.PERMISSION_DENIED: "this machine is not served here",
    Status.NOT_FOUND: "nothing is offered here",
    Status.INVALID_ARGUMENT: f"expected a component, one of: {', '.join(COMPONENTS)}",
    Status.INTERNAL: "the service failed",
}

Tell = Callable[[str], None]


class ServedPointers:
    """
    The answers of one worker.

    tell: told every refusal, without what was shown. It may be called by several threads.
    """

    def __init__(
        self,
        shelf: Shelf,
        ledger: Ledger,
        verifiers: Sequence[AttestationVerifier],
        tell: Tell = lambda _: None,
    ) -> None:
        self.shelf = shelf
        self.ledger = ledger
        self.proofs = Proofs(verifiers)
        self._tell = tell
        self._standings: dict[str, Standing] = {}
        self._read_at: datetime | None = None

    def answer(self, question: Question, now: datetime) -> Reply:
        """Return the answer. Never raises."""
        try:
            return self._answer(question, now)
        except Exception as error:  # noqa: BLE001 - door 4: a request's failure is its own
            self._tell(f"a question failed: {type(error).__name__}")
            return refused(Status.INTERNAL)

    def attested(self, proof: str, machine: str, now: datetime) -> Claims | Reply:
        """Return what a proof proves, or the refusal, which is counted and told."""
        found = self.proofs.check(proof, machine, now)
        return self._refuse(found) if isinstance(found, Refusal) else found

    def _answer(self, question: Question, now: datetime) -> Reply:
        claims = self.attested(question.proof, question.machine, now)
        if isinstance(claims, Reply):
            return claims
        if question.component not in COMPONENTS or len(question.version) > LONGEST_VERSION:
            return self._refuse(Refusal(Status.INVALID_ARGUMENT, "component"))
        self.shelf.look(now)
        if self.shelf.catalog.is_on(claims.region):
            hotfixes = self._hotfixes(question, claims, now)
        else:
            hotfixes = self._taken_back(question.component, claims.region)
            if not hotfixes:
                return self._refuse(Refusal(Status.NOT_FOUND, f"region {claims.region!a} is off"))
        return Reply(
            status=Status.OK,
            body=self.shelf.answer(hotfixes, with_update=question.wants_update),
        )

    def _refuse(self, refusal: Refusal) -> Reply:
        self.proofs.refused[refusal.status.name, refusal.cause] += 1
        self._tell(f"refused, {refusal.status.name}: {refusal.cause}")
        return refused(refusal.status)

    def _taken_back(self, component: str, region: str) -> Hotfixes:
        """Return tombstones for a region that was switched off; for one that never was on, none."""
        if not self.shelf.catalog.is_switched_off(region):
            return {}
        lines = self.shelf.lines.get(component, {})
        return {base: None for base, fixes in lines.items() if fixes}

    def _hotfixes(self, question: Question, claims: Claims, now: datetime) -> Hotfixes:
        lines = self.shelf.lines.get(question.component, {})
        base = base_of(question.version) or ""
        asker = Asker(
            component=question.component, machine=claims.machine, region=claims.region, base=base
        )
        self._read_standings(now)
        hotfixes: Hotfixes = {}
        for one, fixes in lines.items():
            if one == base and question.component == OUR_COMPONENT:
                usable = [fix for fix in fixes if may_upgrade(question.version, fix.version)]
                version = self._offered(usable, asker, now)
            else:
                version = self._would_apply(fixes, claims.machine)
            if version or any(self._is_stopped(fix) for fix in fixes):
                hotfixes[one] = version or None
        return hotfixes

    def _is_stopped(self, fix: Fix) -> bool:
        """Say whether no machine may go on with a fix that it had."""
        standing = self._standings.get(fix.version)
        is_halted = standing is not None and bool(standing.campaign.halted)
        return is_halted or fix.state is State.WITHDRAWN

    def _offered(self, fixes: Iterable[Fix], asker: Asker, now: datetime) -> str:
        """Return what a machine of this base is offered, and note that it asked."""
        for fix in fixes:
            if fix.state is not State.PUBLISHED:
                continue
            if fix.everyone:
                self.ledger.note(asker, fix.version, now)
                return fix.version
            if self._is_offered(fix, asker, now):
                return fix.version
        self.ledger.note(asker, "", now)
        return ""

    def _is_offered(self, fix: Fix, asker: Asker, now: datetime) -> bool:
        standing = self._standings.get(fix.version)
        if standing is None or standing.campaign.halted:
            return False
        try:
            # Who had it once has it again: a machine does not lose a fix by booting twice.
            is_meant = _is_meant(standing, asker.machine) or self.ledger.has_had(fix, asker)
            return is_meant and self.ledger.offer(fix, asker, now)
        except UnavailableError as error:
            self._tell(f"{fix.version} is not offered for the moment: {error}")
            return False

    def _would_apply(self, fixes: Iterable[Fix], machine: str) -> str:
        for fix in fixes:
            standing = self._standings.get(fix.version)
            is_taken = fix.everyone or (standing is not None and _is_meant(standing, machine))
            if fix.state is State.PUBLISHED and is_taken:
                return fix.version
        return ""

    def _read_standings(self, now: datetime) -> None:
        if self._read_at is not None and timedelta() <= now - self._read_at < READ_EVERY:
            return
        waving = [
            fix
            for fix in self.shelf.catalog.fixes
            if fix.state is State.PUBLISHED and not fix.everyone
        ]
        try:
            self._standings = self.ledger.standings(waving)
        except UnavailableError as error:
            self._tell(f"waves are not known for the moment, so none is open: {error}")
            self._standings = {}
        self._read_at = now


def _is_meant(standing: Standing, machine: str) -> bool:
    """Say whether the open waves are meant for this machine."""
    # Not whether there is room: this machine may be one of those that have it already.
    return is_meant(standing.campaign, machine, standing.fixed)


def refused(status: Status) -> Reply:
    """Return a refusal in words that tell no more than its status."""
    return Reply(status=status, problem=SENTENCES[status])
