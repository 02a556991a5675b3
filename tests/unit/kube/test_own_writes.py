"""A status that was written alone wakes nobody, however fast the watch is; all else is told."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fairlead.errors import ConflictError
from fairlead.kube.client import KubeClient
from fairlead.kube.copies import Copies, pool_itself
from fairlead.kube.informer import Key, Selection
from fairlead.kube.resource import NODE_POOLS
from unit.kube.small_server import Reply, SmallServer, client_of, small_server, wait_until


def pool(version: int, state: str) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": "workers", "uid": "u"}
    return {"metadata": {**metadata, "resourceVersion": str(version)}, "status": {"state": state}}


class Followed:
    """A copy of one NodePool, whom it woke, and what the server does while it is written."""

    def __init__(self, server: SmallServer, client: KubeClient) -> None:
        self.server = server
        self.woken: list[str] = []
        self.meanwhile: Callable[[], Reply] = lambda: (200, pool(11, "mine"), False)
        server.reply = self._reply
        selected = {NODE_POOLS: Selection(group_of=pool_itself)}
        self.copies = Copies(client, selected, self.woken.append, lambda _: None)

    def bring(self, version: int, state: str) -> None:
        """Let the watch bring a change, and wait until it was taken in."""
        seen = list[Key]()
        self.copies.follow_keys(NODE_POOLS, seen.append)
        before = len(seen)
        self.server.tell("MODIFIED", pool(version, state))
        wait_until(lambda: len(seen) > before)

    def write(self) -> None:
        """Write the status alone."""
        self.copies.apply(NODE_POOLS, pool(10, "mine"), "status", is_last=True)

    def state(self) -> str:
        """What is known of the pool."""
        found = self.copies.find(NODE_POOLS, "default", "workers")
        assert found is not None
        return str(found["status"]["state"])

    def _reply(self, method: str, _path: str, _headers: dict[str, str]) -> Reply:
        if method == "PATCH":
            return self.meanwhile()
        return 200, {"metadata": {"resourceVersion": "10"}, "items": [pool(10, "old")]}, False


@pytest.fixture
def followed() -> Iterator[Followed]:
    server = SmallServer()
    with small_server(server) as address, client_of(address) as client:
        made = Followed(server, client)
        made.copies.start()
        wait_until(lambda: made.woken == ["default/workers"])  # by the first list
        made.woken.clear()
        yield made
        server.lines.put(None)
        made.copies.stop()


def test_a_write_that_the_watch_brings_after_its_answer_wakes_nobody(followed: Followed) -> None:
    followed.write()
    followed.bring(11, "mine")

    assert (followed.woken, followed.state()) == ([], "mine")


def test_a_write_that_the_watch_brings_before_its_answer_wakes_nobody(followed: Followed) -> None:
    def meanwhile() -> Reply:
        followed.bring(11, "mine")
        return 200, pool(11, "mine"), False

    followed.meanwhile = meanwhile
    followed.write()

    assert (followed.woken, followed.state()) == ([], "mine")


def test_what_somebody_else_writes_before_the_answer_is_told_when_it_is_there(
    followed: Followed,
) -> None:
    def meanwhile() -> Reply:
        followed.bring(11, "mine")
        followed.bring(12, "theirs")
        assert followed.woken == []
        return 200, pool(11, "mine"), False

    followed.meanwhile = meanwhile
    followed.write()

    assert (followed.woken, followed.state()) == (["default/workers"], "theirs")


def test_a_write_that_is_refused_hides_no_change(followed: Followed) -> None:
    def meanwhile() -> Reply:
        followed.bring(11, "theirs")
        return 409, {"message": "somebody was faster"}, False

    followed.meanwhile = meanwhile
    with pytest.raises(ConflictError, match="somebody was faster"):
        followed.write()

    assert (followed.woken, followed.state()) == (["default/workers"], "theirs")


def test_the_next_change_after_an_own_write_is_told(followed: Followed) -> None:
    followed.write()
    followed.bring(11, "mine")
    followed.bring(12, "theirs")

    wait_until(lambda: followed.woken == ["default/workers"])
    assert followed.state() == "theirs"


def test_a_change_that_comes_in_the_place_of_an_own_write_is_told(followed: Followed) -> None:
    followed.write()
    followed.bring(13, "theirs")  # as after a list that passed over version 11

    wait_until(lambda: followed.woken == ["default/workers"])
    assert followed.state() == "theirs"
