"""
Boot reports of a cluster: kept for people, without what the machine was given in secret.

An agent takes secrets out of what it reports. Whoever reports is not believed to be one: what this
service gives to the machines of a pair is taken out once more, in every spelling that an agent
knows. What a machine makes of its own secrets otherwise is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.agent.report.redact import Redactor
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_secrets import secrets_of, spellings_of
from fairlead.errors import ConflictError, InputError
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.boot_reports import (
    EARLIER_NAME,
    EARLIER_TYPE,
    KeptReport,
    earlier_name,
    earlier_report,
    is_of,
    report_in,
    report_object,
)
from fairlead.kube.cluster_api.deployment import machine_of
from fairlead.kube.cluster_api.in_place import applied_since
from fairlead.kube.names import TOKEN, owner_of, secret_name, split
from fairlead.kube.resource import BOOT_REPORTS, MACHINES, SECRETS
from fairlead.kube.world import KubeWorld
from fairlead.payload.answer import served_config
from fairlead.payload.bearer import report_digest
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.served.pool_secrets import PoolSecrets

# What the names in a pool's revision point to now.
FindSecrets = Callable[[str, Revision], PoolSecrets]


class KeptReports:
    """The reports of one cluster. Every operation may raise UnavailableError."""

    def __init__(self, world: KubeWorld, find_secrets: FindSecrets) -> None:
        self._world = world
        self._find_secrets = find_secrets
        self._copies = world.copies
        self._brought: set[tuple[str, str]] = set()

    def find(self, machine: Object) -> KeptReport | None:
        """Return what a Machine's machine said last, or None."""
        found = self._find(machine)
        kept = report_in(found) if found is not None else None
        earlier = self._find_earlier(machine)
        if kept is None or (earlier is not None and earlier.pair == _pair_of(machine) != kept.pair):
            return earlier
        return kept

    def keep(self, machine: Object, report: bytes, pair: str = "") -> KeptReport:
        """
        Keep what a machine said of a boot from this pair, by default the one that it has now.

        Return what is kept of it.

        Of one boot the first word counts: raises ConflictError if there was one.
        """
        change = "" if pair else applied_since(machine)
        pool, pair = owner_of(machine), pair or _pair_of(machine)
        text = self._without_secrets(pool, pair, report.decode())
        kept = KeptReport(pair=pair, digest=report_digest(report), text=text, change=change)
        made, before = report_object(pool, machine, kept), self._find(machine, is_any=True)
        if before is None:
            self._copies.client.create(BOOT_REPORTS, made)
        elif is_of(before, machine) and report_in(before).is_about(pair, change):
            raise ConflictError(f"{machine['metadata']['name']} said something before")
        else:
            version = before["metadata"]["resourceVersion"]
            metadata = {**made["metadata"], "resourceVersion": version}
            self._copies.client.replace(BOOT_REPORTS, {**made, "metadata": metadata})
        return kept

    def bring_over(self) -> int:
        """
        Keep what earlier releases kept in Secrets, for people as well; return how many.

        A Secret stays for as long as its Machine: replicas of before may still serve.
        """
        brought = 0
        for found in self._copies.list_all(SECRETS):
            metadata = found["metadata"]
            version = (metadata["uid"], metadata["resourceVersion"])
            if found.get("type") == EARLIER_TYPE and version not in self._brought:
                brought += self._bring(found)
                self._brought.add(version)
        return brought

    def _bring(self, found: Object) -> bool:
        metadata = found["metadata"]
        name = metadata["name"].removeprefix(EARLIER_NAME)
        machine = self._copies.find(MACHINES, metadata["namespace"], name)
        if machine is None or owner_of(machine) != owner_of(found) or not is_of(found, machine):
            return False
        try:
            pair, report = earlier_report(found)
            if self._find(machine) is not None and pair != _pair_of(machine):
                return False  # the machine changed since, and said so to a replica of this release
            self.keep(machine, report, pair)
        except (ConflictError, InputError, UnicodeDecodeError):
            return False  # it is there, or nobody could read it
        return True

    def _find(self, machine: Object, *, is_any: bool = False) -> Object | None:
        metadata = machine["metadata"]
        found = self._copies.client.find(BOOT_REPORTS, metadata["name"], metadata["namespace"])
        return found if found is not None and (is_any or is_of(found, machine)) else None

    def _find_earlier(self, machine: Object) -> KeptReport | None:
        metadata = machine["metadata"]
        found = self._copies.find(SECRETS, metadata["namespace"], earlier_name(metadata["name"]))
        if found is None or found.get("type") != EARLIER_TYPE or not is_of(found, machine):
            return None
        pair, report = earlier_report(found)
        return KeptReport(
            pair=pair or _pair_of(machine),
            digest=report_digest(report),
            text=report.decode(errors="replace"),
        )

    def _without_secrets(self, pool: str, pair: str, text: str) -> str:
        found = self._copies.find(SECRETS, split(pool)[0], secret_name(TOKEN, pool, pair))
        if found is None:
            return text
        redactor = Redactor()
        redactor.learn(spellings_of(self._world.secrets.tokens_in(found)))
        try:
            served = self._world.secrets.token_of(pool, found).served
            redactor.learn(self._given_with(pool, served))
        except InputError:
            pass  # a pair that is damaged served nothing else
        return redactor.clean(text)

    def _given_with(self, pool: str, served: Revision) -> list[str]:
        """Return every spelling of what is secret in a node config, as it would be served now."""
        secrets = self._find_secrets(pool, served)
        if secrets.problem:
            secrets = PoolSecrets()
        text = served_config(served.node_config, NodeSettings(), None, secrets)
        return secrets_of(parse_node_config(text).config)


def _pair_of(machine: Object) -> str:
    seen = machine_of(machine, owner_of(machine))
    return seen.heading_for or seen.revision
