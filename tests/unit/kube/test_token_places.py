"""A token leads to its Secret, whatever becomes of that, at the cost of what changed."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.errors import InputError
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.answer import Change, Object
from fairlead.kube.copies import Copies
from fairlead.kube.informer import Informer
from fairlead.kube.resource import SECRETS
from fairlead.kube.secrets import KubeSecrets
from fairlead.kube.serve.token_places import TokenPlaces
from fairlead.kube.world import PayloadWorld
from fairlead.rollout.secrets import hashed
from unit.kube.object_server import ObjectServer
from unit.kube.small_server import client_of, small_server

MANY = 50

DAMAGED = [
    None,
    {},
    {"kept": None},
    {"kept": 5},
    {"kept": "no base64"},
    {"kept": base64.b64encode(b"\xff").decode()},
    {"kept": base64.b64encode(b"no JSON").decode()},
    {"kept": base64.b64encode(b"[" * 200_000).decode()},
    {"kept": base64.b64encode(b'["token"]').decode()},
    {"kept": base64.b64encode(b'{"token": 5, "previous": {"a": 1}}').decode()},
    {"kept": base64.b64encode(b'{"token": ["a"]}').decode()},
]


class Tokens:
    """A server with token Secrets, a payload service's copy of it, and where tokens are."""

    def __init__(self, server: ObjectServer, world: PayloadWorld) -> None:
        self.server = server
        self.world = world
        self.read: list[str] = []
        self._tokens_in = world.secrets.tokens_in
        for number in range(MANY):
            self.put(f"s{number}", f"t{number}")
        self.look()
        world.secrets.tokens_in = self._counted  # type: ignore[method-assign]
        self.places = TokenPlaces(world)

    def put(self, name: str, token: str, previous: str = "", **parts: Any) -> Object:
        kept = base64.b64encode(json.dumps({"token": token, "previous": previous}).encode())
        return self.have(name, {"kept": kept.decode()}, **parts)

    def have(self, name: str, data: Any, **parts: Any) -> Object:
        metadata = {"labels": {"fairlead.dev/pool": "workers"}}
        kind = {"type": "fairlead.dev/token", "data": data, "metadata": metadata}
        return self.server.put(SECRETS, name, **{**kind, **parts})

    def look(self) -> None:
        self.world.copies.look()

    def bring(self, kind: str, changed: Object) -> None:
        """Let the watch bring a change."""
        informer = self.world.copies._informers[SECRETS]  # noqa: SLF001 - what its thread calls
        assert isinstance(informer, Informer)
        informer._take(Change(kind, changed))  # noqa: SLF001 - as above

    def find(self, token: str) -> str:
        """The name of the Secret of a token, or ''."""
        found = self.places.find(hashed(token))
        return str(found["metadata"]["name"]) if found else ""

    def _counted(self, found: Object) -> tuple[str, ...]:
        self.read.append(found["metadata"]["name"])
        return self._tokens_in(found)


@pytest.fixture
def tokens() -> Iterator[Tokens]:
    server = ObjectServer()
    with small_server(server) as address, client_of(address) as client:
        yield Tokens(server, PayloadWorld(client, "", Stub(), lambda _: None, lambda _: None))


def test_all_are_read_once_and_then_what_changed_alone(tokens: Tokens) -> None:
    assert (tokens.find("t7"), tokens.find("t8")) == ("s7", "s8")
    assert len(tokens.read) == MANY

    tokens.bring("MODIFIED", tokens.put("s7", "new", "t7"))
    assert [tokens.find(token) for token in ("new", "t7", "t8")] == ["s7", "s7", "s8"]
    tokens.bring("ADDED", tokens.put("s99", "t99"))
    assert tokens.find("t99") == "s99"

    assert tokens.read[MANY:] == ["s7", "s99"]


def test_a_token_that_was_replaced_twice_leads_nowhere(tokens: Tokens) -> None:
    tokens.bring("MODIFIED", tokens.put("s7", "new", "t7"))
    tokens.bring("MODIFIED", tokens.put("s7", "newer", "new"))

    assert [tokens.find(token) for token in ("t7", "new", "newer")] == ["", "s7", "s7"]


def test_a_secret_that_is_gone_leads_nowhere_and_may_come_again(tokens: Tokens) -> None:
    assert tokens.find("t7") == "s7"
    gone = tokens.server.get(SECRETS, "s7")
    assert gone is not None
    tokens.server.remove(SECRETS, "s7")
    tokens.bring("DELETED", gone)
    assert tokens.find("t7") == ""

    tokens.bring("ADDED", tokens.put("s7", "t7"))
    assert tokens.find("t7") == "s7"


def test_what_a_list_has_otherwise_than_before_is_read_and_nothing_else(tokens: Tokens) -> None:
    assert tokens.find("t7") == "s7"
    tokens.put("s7", "new")
    tokens.server.remove(SECRETS, "s8")
    tokens.put("s99", "t99")
    tokens.look()

    found = [tokens.find(token) for token in ("t7", "new", "t8", "t9", "t99")]
    assert found == ["", "s7", "", "s9", "s99"]
    assert sorted(tokens.read[MANY:]) == ["s7", "s99"]


def test_what_this_process_writes_and_deletes_itself_counts_at_once(tokens: Tokens) -> None:
    copies: Copies = tokens.world.copies
    found = tokens.server.get(SECRETS, "s7")
    assert found is not None
    kept = base64.b64encode(b'{"token": "new", "previous": "t7"}').decode()
    written = copies.replace(SECRETS, {**found, "data": {"kept": kept}})
    assert (tokens.find("new"), tokens.find("t7")) == ("s7", "s7")

    copies.delete(SECRETS, written)
    assert (tokens.find("new"), tokens.find("t7")) == ("", "")


@pytest.mark.parametrize("data", DAMAGED)
def test_a_damaged_secret_leads_nowhere_and_keeps_no_other_from_it(
    tokens: Tokens, data: Any
) -> None:
    assert tokens.find("t7") == "s7"
    tokens.bring("MODIFIED", tokens.have("s7", data))
    tokens.bring("MODIFIED", tokens.put("s8", "new"))
    assert [tokens.find(token) for token in ("t7", "new", "t9")] == ["", "s8", "s9"]

    tokens.bring("MODIFIED", tokens.put("s7", "mended"))
    assert tokens.find("mended") == "s7"


def test_a_secret_of_another_type_or_two_of_one_token_are_told_apart(tokens: Tokens) -> None:
    tokens.bring("MODIFIED", tokens.put("s7", "t7", type="Opaque"))
    assert tokens.find("t7") == ""

    copy = tokens.put("t-copy", "t8")
    tokens.bring("ADDED", copy)
    assert tokens.find("t8") == "t-copy"
    tokens.bring("DELETED", copy)
    assert tokens.find("t8") == "s8"


@pytest.mark.parametrize("by_itself", [True, False])
def test_of_two_secrets_of_one_token_the_one_that_stays_is_found(
    tokens: Tokens, *, by_itself: bool
) -> None:
    tokens.put("t-copy", "t8")
    tokens.look()
    assert tokens.find("t8") == "t-copy"

    if by_itself:
        copy = tokens.server.get(SECRETS, "t-copy")
        assert copy is not None
        tokens.world.copies.delete(SECRETS, copy)
    else:
        tokens.server.remove(SECRETS, "t-copy")
        tokens.look()

    assert tokens.find("t8") == "s8"


def test_tokens_of_a_secret_are_texts() -> None:
    for data in DAMAGED:
        assert KubeSecrets.tokens_in(None, {"data": data}) == ()  # type: ignore[arg-type]


def test_a_payload_service_that_cannot_read_a_pools_tokens_says_so(tokens: Tokens) -> None:
    # It follows no pools, so it cannot know of one that leaves, where such a token is no news.
    with pytest.raises(InputError):
        tokens.world.secrets.list_tokens("a/workers")
