"""
What a payload service asks in memory, at an edge that gives many machines one Secret.

Such an edge, as Cluster API is one, knows no names in advance: the token is that of the pair, and
whom it admits is looked up by the name that a machine gives itself.
"""

from datetime import datetime

from fairlead.answers.words import Phase
from fairlead.payload.bearer import Bearer, Standing, report_digest
from fairlead.payload.join import Join
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import Machine
from fairlead.rollout.secrets import TokenSecret, hashed
from fairlead.rollout.served.pool_secrets import PoolSecrets
from fairlead.sim.clock import Clock
from fairlead.sim.world import SimWorld


class SimPayloads:
    """The payload service's view of one simulated world; `fetched` and `reports` by machine."""

    def __init__(self, world: SimWorld) -> None:
        self._world = world
        self.fetched: dict[str, str] = {}
        self.reports: dict[str, bytes] = {}
        self.problems: dict[str, str] = {}

    def find_bearer(self, token_hash: str, machine: str) -> Bearer | None:
        """Return the pair of this token, and how the machine of this name stands to it."""
        for pair in self._world.tokens.values():
            if token_hash in [hashed(token) for token in (pair.token, pair.previous) if token]:
                found = self._world.living.get(machine)
                return self._bearer(pair, found) if found else Bearer(pair=pair)
        return None

    def _bearer(self, pair: TokenSecret, machine: Machine) -> Bearer:
        if (machine.pool, machine.heading_for or machine.revision) != (pair.pool, pair.id):
            return Bearer(pair=pair)
        report = self.reports.get(machine.name)
        is_expected = report is None and machine.phase is Phase.BOOTING
        return Bearer(
            pair=pair,
            standing=Standing.EXPECTED if is_expected else Standing.OVER,
            said="" if report is None else report_digest(report),
            settings=machine.settings,
        )

    def find_secrets(self, _pool: str, _revision: Revision) -> PoolSecrets:
        """Return none."""
        return PoolSecrets()

    def record_fetch(self, _pool: str, machine: str, revision: str) -> None:
        """Remember what a machine was given."""
        self.fetched[machine] = revision

    def record_problem(self, _pool: str, pair: str, problem: str) -> None:
        """Remember why a pair cannot be served."""
        self.problems[pair] = problem

    def record_report(self, _pool: str, machine: str, report: bytes) -> None:
        """Keep a machine's report."""
        self.reports[machine] = report


class SimCluster:
    """A cluster that knows its bootstrap tokens: one for each machine that is about to join."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._drawn = 0
        self._known: dict[tuple[str, str], tuple[str, datetime]] = {}

    def admit(self, pool: str, machine: str, until: datetime) -> Join:
        """Return how a machine joins; what it was given before ends now."""
        self._drawn += 1
        token = f"{self._drawn:06x}.{self._drawn:016x}"
        self._known[pool, machine] = (token, until)
        return Join(server="api.example.test:6443", ca="CA", token=token)

    def dismiss(self, pool: str, machine: str) -> None:
        """Forget what a machine was given."""
        self._known.pop((pool, machine), None)

    def takes(self, token: str) -> bool:
        """Say whether a kubelet that shows this bootstrap token is let in at this moment."""
        return any(
            known == token and self._clock.now < until for known, until in self._known.values()
        )
