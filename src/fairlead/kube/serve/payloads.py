"""
What the payload service asks the API server, and what it notes there.

Any number of replicas serve: nothing is known here that is not an object of the cluster. Cluster
API makes machines without telling us their names first, so a token is that of a pair, and whom it
admits is looked up by the name that a machine gives itself.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.answers.words import Phase
from fairlead.boots.failure import failure_text
from fairlead.contract.boot_report import parse_report
from fairlead.contract.hotfix.fact import agent_in
from fairlead.errors import ConflictError, InputError, UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.deployment import AGENT, BOOT_MS, BOOTED, machine_of
from fairlead.kube.cluster_api.in_place import BOOT_FAILED, applied_since, failed_boot
from fairlead.kube.names import owner_of, split
from fairlead.kube.resource import MACHINES
from fairlead.kube.serve.kept_reports import KeptReports
from fairlead.kube.serve.token_places import TokenPlaces
from fairlead.kube.world import KubeWorld
from fairlead.payload.bearer import Bearer, Standing
from fairlead.revision.revision import Revision
from fairlead.rollout.secrets import TokenSecret
from fairlead.rollout.served.pool_secrets import PoolSecrets

# Who writes what machines tell, in managedFields: an operator never takes it back.
MANAGER = "fairlead-payload"

# What is told of a machine at its Machine, where people may read it.
NOTED = (BOOTED, AGENT, BOOT_MS, BOOT_FAILED)

# A node may be ready before its agent has said how the boot ended.
_LISTENED_TO = (Phase.BOOTING, Phase.READY, Phase.NOT_READY)


class KubePayloads:
    """The PayloadSource seam over one API server."""

    def __init__(self, world: KubeWorld) -> None:
        self._world = world
        self._copies = world.copies
        self.reports = KeptReports(world, self.find_secrets)
        self._places = TokenPlaces(world)

    def find_bearer(self, token_hash: str, machine: str) -> Bearer | None:
        """
        Return the pair of this token, and how the machine of this name stands to it.

        Raises UnavailableError if something of its pool is damaged: it asks again.
        """
        found = self._places.find(token_hash)
        if found is None:
            return None
        pool = owner_of(found)
        try:
            pair = self._world.secrets.token_of(pool, found)
            named = self.find_machine(pool, machine)
            return self._bearer(pair, named) if named else Bearer(pair=pair)
        except InputError as error:
            raise UnavailableError(str(error)) from error

    def find_secrets(self, pool: str, revision: Revision) -> PoolSecrets:
        """Return what is in the Secrets that this revision names, as they are now."""
        leaves = revision.leaves
        fields = ("pullSecret", "trustBundle")
        spec = {field: {"name": leaves.get(f"{field}.name", "")} for field in fields}
        return self._world.pools.secrets.read_all(split(pool)[0], {"spec": spec})

    def record_fetch(self, pool: str, machine: str, revision: str) -> None:
        """Note on the Machine which inputs it was given."""
        self._note(pool, machine, {BOOTED: revision})

    def _note(self, pool: str, machine: str, told: dict[str, str]) -> None:
        """Annotate a Machine, besides what this service noted before; '' takes something away."""
        found = self.find_machine(pool, machine)
        if found is None:
            return
        known = found["metadata"].get("annotations") or {}
        noted = {name: known[name] for name in NOTED if name in known}
        kept = {name: value for name, value in {**noted, **told}.items() if value}
        if kept == noted:
            return
        # With its uid and without its version: a Machine that is gone is not made, and Cluster
        # API, which writes it all the time, is not disturbed.
        metadata = {name: found["metadata"][name] for name in ("name", "namespace", "uid")}
        wanted = {
            "apiVersion": MACHINES.api_version,
            "kind": MACHINES.kind,
            "metadata": {**metadata, "annotations": kept},
        }
        try:
            self._copies.client.apply(MACHINES, wanted, manager=MANAGER)
        except ConflictError as error:
            raise UnavailableError(str(error)) from error

    def record_problem(self, pool: str, pair: str, problem: str) -> None:
        """Note in the token's Secret why its pair cannot be served."""
        for secret in self._world.secrets.list_tokens(pool):
            if secret.id == pair:
                try:
                    self._world.secrets.write_token(replace(secret, problem=problem))
                except ConflictError as error:
                    raise UnavailableError(str(error)) from error

    def record_report(self, pool: str, machine: str, report: bytes) -> None:
        """
        Keep a report that goes with its Machine; of one boot the first word counts.

        A change in place is another boot: its report takes the place of the one before.
        """
        found = self.find_machine(pool, machine)
        if found is None:
            return
        try:
            kept = self.reports.keep(found, report)
        except ConflictError as error:
            raise UnavailableError(f"{machine} said something a moment ago") from error
        read = parse_report(kept.text.encode())
        agent = agent_in(read)
        told = {BOOT_MS: f"{read.took_ms:.1f}", **({AGENT: agent} if agent else {})}
        failure = failure_text(read) if read.exit_code else ""
        failed = failed_boot(kept.change, failure) if failure else {BOOT_FAILED: ""}
        self._note(pool, machine, {**told, **failed})

    def find_machine(self, pool: str, machine: str) -> Object | None:
        """Return the Machine of a pool that calls itself by this name, or None."""
        found = self._copies.find(MACHINES, split(pool)[0], machine)
        return found if found is not None and owner_of(found) == pool else None

    def find_cluster(self, pool: str, machine: str) -> tuple[str, str]:
        """Return namespace and name of the cluster that a machine joins."""
        found = self.find_machine(pool, machine)
        if found is None:
            raise UnavailableError(f"{machine} of {pool} is gone")
        return split(pool)[0], str(found["spec"]["clusterName"])

    def _bearer(self, pair: TokenSecret, found: Object) -> Bearer:
        machine = machine_of(found, pair.pool)
        if (machine.heading_for or machine.revision) != pair.id:
            return Bearer(pair=pair)
        change = applied_since(found)
        if machine.is_in_flight and not change and machine.phase is not Phase.FAILED:
            return Bearer(pair=pair)  # it will change to this pair, or our copy is behind
        kept = self.reports.find(found)
        said = kept.digest if kept is not None and kept.is_about(pair.id, change) else ""
        is_expected = not said and machine.phase in _LISTENED_TO
        template = self._world.machines.find_template(pair.pool)
        return Bearer(
            pair=pair,
            standing=Standing.EXPECTED if is_expected else Standing.OVER,
            said=said,
            settings=template.settings if template else machine.settings,
        )
