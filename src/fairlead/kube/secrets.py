"""
Pairs of secrets as Secrets: `token-POOL-ID` for the payload service, `user-data-POOL-ID` for
machines.

A first token is made and never replaced; what changes of it afterwards is written over exactly what
was read. User data keeps its name while its content is refreshed, so no template is written for it.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from fairlead.contract.boot_document import BootDocument
from fairlead.errors import ConflictError, InputError
from fairlead.kept_text import (
    convert_value,
    parse_document,
    parse_value,
    render_document,
    render_value,
)
from fairlead.kube.answer import Object, version_of
from fairlead.kube.copies import Copies, Read
from fairlead.kube.names import TOKEN, USER_DATA, owned, secret_name, split
from fairlead.kube.resource import NODE_POOLS, SECRETS
from fairlead.kube.revisions import Revisions
from fairlead.revision.revision import Revision
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.userdata.delivery import Fetch
from fairlead.userdata.render import Target, render_user_data

TOKEN_TYPE = "fairlead.dev/token"  # noqa: S105 - a kind of Secret
CLUSTER_API_TYPE = "cluster.x-k8s.io/secret"

# What we keep for ourselves in either Secret, and what Cluster API hands to machines.
KEPT, VALUE, FORMAT = "kept", "value", "format"

# Of the value, so that it shows if somebody edited it. Secrets of earlier releases have none.
DIGEST = "digest"

# Secrets whose value was compared with its digest, and is not again until they change.
MOST_COMPARED = 20_000

# In the place of revisions, which are objects of their own, while the rest of a token is read.
NO_REVISION = {
    "id": "",
    "scheme": 0,
    "intent_hash": "",
    "platform_hash": "",
    "leaves": {},
    "node_config": "",
}

# A payload service that restarts is back within a minute; a boot may wait longer than that.
FETCH_DEADLINE_S = 300


class LostRevisionError(InputError):
    """A pair is there whose revision is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Booted:
    """What machines of this cluster take: the format of user data and the layout of their image."""

    format: str = "boothook"
    layout: str = "fairlead"


class KubeSecrets:
    """
    The SecretStore seam over Secrets.

    let_go: told of a revision whose user data is about to go: no machine is made from it any more.
    """

    def __init__(
        self,
        copies: Copies,
        revisions: Revisions,
        let_go: Callable[[str, Revision], None],
        booted: Booted | None = None,
    ) -> None:
        self._copies = copies
        self._revisions = revisions
        self._let_go = let_go
        self._booted = booted or Booted()
        self._compared: dict[str, str] = {}  # versions, by uid
        self.rotations = 0
        self._counting = threading.Lock()

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        """Return the pool's token secrets. Raises InputError if one is damaged."""
        return self._read_all(pool, TOKEN_TYPE, partial(self.token_of, pool))

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        """Return the pool's user-data secrets; one that somebody edited is as good as gone."""
        return self._read_all(pool, CLUSTER_API_TYPE, self._user_data_in)

    def token_of(self, pool: str, found: Object) -> TokenSecret:
        """Return the token that a Secret holds."""
        try:
            fields = _fields_in(found)
            without = {**fields, "revision": NO_REVISION, "served": NO_REVISION}
            kept = convert_value(TokenSecret, without)
        except InputError as error:
            raise InputError(
                f"Secret {found['metadata']['name']} cannot be read: {error}",
                hint="delete it: it is made again under its name, with another token",
            ) from error
        ids = (str(fields.get(name, "")) for name in ("revision", "served"))
        revision, served = (self._revision(pool, identity) for identity in ids)
        return replace(kept, revision=revision, served=served)

    def tokens_in(self, found: Object) -> tuple[str, ...]:
        """Return the tokens that a Secret holds: the present one, and the one before."""
        try:
            fields = _fields_in(found)
        except InputError:
            return ()  # damaged: told where the pool is looked at
        tokens = (fields.get(name) for name in ("token", "previous"))
        return tuple(token for token in tokens if token and isinstance(token, str))

    def create_token(self, secret: TokenSecret) -> None:
        """Keep the first token of a pair. Raises ConflictError if there is one."""
        made = owned(SECRETS, self._owner(secret.pool), secret_name(TOKEN, secret.pool, secret.id))
        self._copies.create(SECRETS, self._token_object(made, secret))

    def write_token(self, secret: TokenSecret) -> None:
        """Replace a token secret. Raises ConflictError if somebody else changed it meanwhile."""
        namespace, _ = split(secret.pool)
        name = secret_name(TOKEN, secret.pool, secret.id)
        found = self._copies.find(SECRETS, namespace, name)
        if found is None:
            raise ConflictError(f"{name} is not there any more")
        self._copies.replace(SECRETS, self._token_object(found, secret))
        if secret.token not in self.tokens_in(found):
            with self._counting:  # several workers write tokens at once
                self.rotations += 1

    def write_user_data(self, secret: UserData) -> None:
        """Create or replace a user-data secret."""
        made = owned(
            SECRETS, self._owner(secret.pool), secret_name(USER_DATA, secret.pool, secret.id)
        )
        name, _, _ = self._booted.format.partition("-")
        value = self._rendered(secret)
        data = {
            VALUE: _encoded(value),
            DIGEST: _encoded(sha256(value).hexdigest().encode()),
            FORMAT: _encoded(b"ignition" if name == "ignition" else b"cloud-config"),
            KEPT: _encoded(render_value(secret).encode()),
        }
        self._copies.apply(SECRETS, {**made, "type": CLUSTER_API_TYPE, "data": data})

    def delete_token(self, pool: str, pair: str) -> None:
        """Delete a token secret."""
        self._delete(pool, secret_name(TOKEN, pool, pair))

    def delete_user_data(self, pool: str, pair: str) -> None:
        """Delete a user-data secret, after what machines of it are made from."""
        revision = self._copies.read_if_stays(pool, lambda: self._revisions.find(pool, pair))
        if revision is not None:
            self._let_go(pool, revision)
        self._delete(pool, secret_name(USER_DATA, pool, pair))

    def drop_lost(self, pool: str, named: set[str]) -> bool:
        """
        Delete pairs that nothing names and whose revision is gone; return whether there was one.

        An operator that is deposed between two writes leaves such a pair: it made the revision,
        another operator let that go, and then came the token. Copies may lag: the server is asked.
        """
        is_any = False
        for found in self._list(pool, TOKEN_TYPE):
            pair = found["metadata"]["name"].rpartition("-")[2]
            if pair in named or self._revisions.is_there(pool, pair):
                continue
            self._delete(pool, secret_name(USER_DATA, pool, pair))
            self._copies.delete_as_seen(SECRETS, found)
            is_any = True
        return is_any

    def _read_all(
        self, pool: str, kind: str, read: Callable[[Object], Read | None]
    ) -> tuple[Read, ...]:
        found = (
            self._copies.read_if_stays(pool, partial(read, one)) for one in self._list(pool, kind)
        )
        return tuple(one for one in found if one is not None)

    def _user_data_in(self, found: Object) -> UserData | None:
        try:
            kept = parse_value(UserData, _text_in(found, KEPT))
            return kept if self._is_whole(found) else None
        except InputError:
            return None

    def _is_whole(self, found: Object) -> bool:
        """Say whether machines boot from what was written."""
        if DIGEST not in found["data"]:
            return True
        uid, version = found["metadata"]["uid"], version_of(found)
        if self._compared.get(uid) == version:
            return True
        is_whole = sha256(_bytes_in(found, VALUE)).hexdigest() == _text_in(found, DIGEST)
        if is_whole:
            if len(self._compared) >= MOST_COMPARED:
                self._compared.clear()
            self._compared[uid] = version
        return is_whole

    def _list(self, pool: str, kind: str) -> list[Object]:
        return [one for one in self._copies.list_of(SECRETS, pool) if one.get("type") == kind]

    def _revision(self, pool: str, identity: str) -> Revision:
        found = self._revisions.find(pool, identity)
        if found is None:
            raise LostRevisionError(f"NodeRevision {identity} of {pool} is missing")
        return found

    def _token_object(self, found: Object, secret: TokenSecret) -> Object:
        for revision in (secret.revision, secret.served):
            self._revisions.keep(secret.pool, revision)
        fields: Any = parse_document(render_value(secret))
        fields |= {"revision": secret.revision.id, "served": secret.served.id}
        data = {KEPT: _encoded(render_document(fields).encode())}
        return {**found, "type": TOKEN_TYPE, "data": data}

    def _rendered(self, secret: UserData) -> bytes:
        stub = secret.stub
        document = BootDocument(
            stub.endpoint, stub.ca, secret.token, FETCH_DEADLINE_S, report=stub.report
        )
        target = Target(format=self._booted.format, layout=self._booted.layout)
        return render_user_data(Fetch(document), target)

    def _owner(self, pool: str) -> Object:
        found = self._copies.find(NODE_POOLS, *split(pool))
        if found is None:
            raise ConflictError(f"{pool} is not there any more")
        return found

    def _delete(self, pool: str, name: str) -> None:
        found = self._copies.find(SECRETS, split(pool)[0], name)
        if found is not None:
            self._copies.delete_as_seen(SECRETS, found)


def revisions_in(found: Object) -> set[str]:
    """
    Return the revisions that a Secret of a pair needs: the one of its name, and what it serves.

    They differ while new machines get what others have not yet.
    """
    named = {found["metadata"]["name"].rpartition("-")[2]}
    if found.get("type") == TOKEN_TYPE:
        try:
            fields = _fields_in(found)
            named |= {str(fields[name]) for name in ("revision", "served")}
        except (InputError, KeyError):
            return named  # damaged: told where the pool is looked at
    return named


def _fields_in(found: Object) -> dict[str, Any]:
    fields: Any = parse_document(_text_in(found, KEPT))
    if not isinstance(fields, dict):
        raise InputError(f"{KEPT} is no object")
    return fields


def _text_in(found: Object, name: str) -> str:
    try:
        return _bytes_in(found, name).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no text") from error


def _bytes_in(found: Object, name: str) -> bytes:
    try:
        return base64.b64decode(found["data"][name], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"it holds no usable {name}") from error


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
