"""
Pull secrets and trust bundles: Secrets in a pool's namespace that its document names.

They are read when they are needed, and no process of ours keeps them.
"""

from __future__ import annotations

import base64
from hashlib import sha256

from fairlead.answers.words import PoolState
from fairlead.controller.observe import Resolved
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.kube.copies import Copies
from fairlead.kube.names import split
from fairlead.kube.resource import NODE_POOLS, SECRETS
from fairlead.rollout.served.pool_secrets import Added, PoolSecrets, measured, named_in

# Fields of a pool that name a Secret, what a person calls it, and the key that holds it.
SECRET_FIELDS = {
    "pullSecret": ("pull secret", ".dockerconfigjson"),
    "trustBundle": ("trust bundle", "ca.crt"),
}


class NamedSecrets:
    """The Secrets that pools of a cluster name."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies

    def read_all(self, namespace: str, document: Json) -> PoolSecrets:
        """Return the Secrets that a document names, to be served and kept nowhere."""
        found: dict[str, bytes | None] = {}
        for field in SECRET_FIELDS:
            name = named_in(document, field)
            try:
                found[field] = self._read(namespace, field, name) if name else None
            except InputError as error:
                return PoolSecrets(problem=str(error))
        return PoolSecrets(pull_secret=found["pullSecret"], trust_bundle=found["trustBundle"])

    def resolve(self, namespace: str, document: Json) -> Resolved:
        """Return the digests of the Secrets that a document names, or why there is none."""
        digests: dict[str, str] = {}
        served: dict[str, int] = {}
        for field in SECRET_FIELDS:
            name = named_in(document, field)
            try:
                known = self.look_at(namespace, field, name) if name else ("", 0)
            except InputError as error:
                return Resolved(problem=str(error), field=f"spec.{field}.name")
            digests[field], served[field] = known
        return Resolved(
            pull_secret=digests["pullSecret"],
            trust_bundle=digests["trustBundle"],
            added=Added(pull_secret=served["pullSecret"], trust_bundle=served["trustBundle"]),
        )

    def move(self, pool: str) -> bool:
        """
        Say whether a pool waits for what Secrets hold that it names: nothing else would wake it.

        Their content may be drift or a rollout; or one cannot be used, and the pool is blocked.
        """
        found = self._copies.find(NODE_POOLS, *split(pool)) or {"spec": {}}
        if not any(named_in(found, field) for field in SECRET_FIELDS):
            return False
        is_blocked = (found.get("status") or {}).get("state") == PoolState.BLOCKED.value
        return is_blocked or found["spec"].get("secretContent") in ("Drift", "Roll")

    def look_at(self, namespace: str, field: str, name: str) -> tuple[str, int]:
        """
        Return the digest of a Secret, and how many bytes it takes in what machines are served.

        Raises InputError if no machine could use it, too.
        """
        content = self._read(namespace, field, name)
        count, why = measured(field, content)
        if why:
            says, _ = SECRET_FIELDS[field]
            raise InputError(f"the Secret {name} in {namespace}, the pool's {says}, {why}")
        return f"sha256:{sha256(content).hexdigest()}", count

    def _read(self, namespace: str, field: str, name: str) -> bytes:
        says, key = SECRET_FIELDS[field]
        found = self._copies.client.find(SECRETS, name, namespace)
        if found is None:
            raise InputError(f"there is no Secret {name} in {namespace}, the pool's {says}")
        try:
            return base64.b64decode(found["data"][key], validate=True)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the Secret {name} in {namespace} holds no {key}") from error
