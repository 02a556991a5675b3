"""
Join tokens, for labs and bare metal: whoever holds the key says who a machine is.

    join1.BODY.TAG      BODY: base64url of JSON   TAG: base64url of HMAC-SHA256 over "join1.BODY"

A token names one machine, its region and when it ends. It may be used until then, or only so many
times: once for a pointer alone, twice for a pointer and the report after it. Uses are counted by
whoever keeps them (SpentTokens), and a token that has none left is refused like a forged one.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError
from fairlead.hotfix.service.attestation.evidence import (
    EXPIRED,
    FORGED,
    MALFORMED,
    document,
    moment,
    text_at,
    url_decoded,
    url_encoded,
)
from fairlead.hotfix.service.attestation.verifier import Claims, NotAdmittedError, UnprovenError

# Bytes of a key.
SHORTEST_KEY = 32

LONGEST_LIFE = timedelta(days=366)
MOST_USES = 16

_FORM = "join1"
_MOMENT = "%Y-%m-%dT%H:%M:%S%z"
_PARTS = 3


class SpentTokens(Protocol):
    """Who counts uses; of all workers together, and also after a restart."""

    def spend(self, nonce: str, uses: int, until: datetime) -> bool:
        """
        Take one of `uses` away, and say whether there was one left: at once and for all.

        until: when the count may be forgotten.
        """


class SpentInMemory:
    """Counts for one process, until it ends; for a service with one worker."""

    def __init__(self) -> None:
        self._spent: dict[str, int] = {}
        self._lock = threading.Lock()

    def spend(self, nonce: str, uses: int, until: datetime) -> bool:
        """Take one away."""
        del until
        with self._lock:
            spent = self._spent[nonce] = self._spent.get(nonce, 0) + 1
        return spent <= uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What a token says. uses: how often it may be shown, 0 for any number of times."""

    machine: str
    region: str
    until: datetime
    nonce: str
    pool: str = ""
    uses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSettings:
    """keys: the one in use first, then those that still count. regions: served ones."""

    keys: tuple[bytes, ...]
    regions: Container[str]
    spent: SpentTokens


def issue_token(joining: Joining, key: bytes) -> str:
    """Return a token. Raises InputError if nobody would take it."""
    if not 0 <= joining.uses <= MOST_USES:
        raise InputError(f"found {joining.uses}, expected 0 to {MOST_USES}", field="uses")
    _check_key(key)
    for name in ("machine", "region", "nonce"):
        _check_name(getattr(joining, name), name)
    if joining.pool:
        _check_name(joining.pool, "pool")
    until = joining.until
    if until.tzinfo is None:
        raise InputError("found a moment without a zone", field="until")
    body = {
        "machine": joining.machine,
        "nonce": joining.nonce,
        "region": joining.region,
        "until": until.strftime(_MOMENT),
        "uses": joining.uses,
    }
    if joining.pool:
        body["pool"] = joining.pool
    said = f"{_FORM}.{url_encoded(encode_json(body).encode())}"
    return f"{said}.{url_encoded(_tag(key, said))}"


class JoinVerifier:
    """Verifies join tokens."""

    name = "join"

    def __init__(self, settings: JoinSettings) -> None:
        for key in settings.keys:
            _check_key(key)
        self._settings = settings

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        """Return what a token proves; a machine that calls itself otherwise is refused."""
        parts = proof.split(".", _PARTS)
        if len(parts) != _PARTS or parts[0] != _FORM:
            raise UnprovenError(MALFORMED)
        body, tag = (url_decoded(part) for part in parts[1:])
        said = f"{_FORM}.{parts[1]}"
        # All of them, whichever fits: time says nothing about keys.
        fits = [hmac.compare_digest(tag, _tag(key, said)) for key in self._settings.keys]
        if not any(fits):
            raise UnprovenError(FORGED)
        joining = _joining(document(body))
        if machine not in ("", joining.machine):
            raise UnprovenError("another machine's")
        return self._claims(joining, now)

    def _claims(self, joining: Joining, now: datetime) -> Claims:
        if now >= joining.until:
            raise UnprovenError(EXPIRED)
        if joining.until - now > LONGEST_LIFE:
            raise UnprovenError(MALFORMED)
        if joining.region not in self._settings.regions:
            raise NotAdmittedError("region")
        spent = self._settings.spent
        if joining.uses and not spent.spend(joining.nonce, joining.uses, joining.until):
            raise UnprovenError("replayed")
        # Whoever counts uses must see each of them: such a proof is not kept.
        until = None if joining.uses else joining.until
        return Claims(
            machine=joining.machine, region=joining.region, pool=joining.pool, until=until
        )


def _joining(found: dict[str, Any]) -> Joining:
    uses = found.get("uses")
    if type(uses) is not int or not 0 <= uses <= MOST_USES:
        raise UnprovenError(MALFORMED)
    return Joining(
        machine=text_at(found, "machine"),
        region=text_at(found, "region"),
        until=moment(text_at(found, "until"), _MOMENT),
        nonce=text_at(found, "nonce"),
        pool=text_at(found, "pool") if "pool" in found else "",
        uses=uses,
    )


def _check_key(key: bytes) -> None:
    if len(key) < SHORTEST_KEY:
        raise InputError(f"found {len(key)} bytes, expected {SHORTEST_KEY} or more", field="key")


def _check_name(text: str, field: str) -> None:
    try:
        text_at({field: text}, field)
    except UnprovenError:
        raise InputError("expected printable ASCII, not empty, 253 at most", field=field) from None


def _tag(key: bytes, said: str) -> bytes:
    return hmac.digest(key, said.encode(), "sha256")
