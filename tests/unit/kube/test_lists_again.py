"""After everything is listed again, those own writes count that are newer than the list."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.kube.client import KubeClient
from fairlead.kube.informer import Informer, Selection
from fairlead.kube.resource import SECRETS
from unit.kube.small_server import SmallServer, client_of, small_server

GROUP = "a/workers"


def secret(version: int, uid: str = "u") -> dict[str, Any]:
    metadata = {"namespace": "a", "name": "s", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata}


class Listed:
    """An informer that only lists, and what the server has."""

    def __init__(self, server: SmallServer, client: KubeClient) -> None:
        self._server = server
        self.told: list[str] = []  # the versions of what changed
        selection = Selection(group_of=lambda _: GROUP)
        self.informer = Informer(client, SECRETS, self._tell, lambda _: None, selection)

    def list_again(self, version: int, *items: dict[str, Any]) -> None:
        """Let the server have these at this version, and list them."""
        document = {"metadata": {"resourceVersion": str(version)}, "items": list(items)}
        self._server.reply = lambda *_: (200, document, False)
        self.informer.look()

    def _tell(self, changed: dict[str, Any]) -> None:
        self.told.append(changed["metadata"]["resourceVersion"])

    def version(self) -> str:
        """Which version of the object is known; '' if it is not there."""
        found = self.informer.find("a", "s")
        assert self.informer.list_group(GROUP) == ([found] if found else [])
        return str(found["metadata"]["resourceVersion"]) if found else ""


@pytest.fixture
def listed() -> Iterator[Listed]:
    server = SmallServer()
    with small_server(server) as address, client_of(address) as client:
        made = Listed(server, client)
        made.list_again(10)
        yield made


def test_an_own_write_that_somebody_deleted_meanwhile_is_gone(listed: Listed) -> None:
    listed.informer.note_written(secret(11))
    assert listed.version() == "11"

    listed.list_again(15)

    assert listed.version() == ""
    assert listed.told == ["11"], "whoever needs it is woken"


def test_an_own_write_counts_if_the_list_is_older(listed: Listed) -> None:
    listed.informer.note_written(secret(16))

    listed.list_again(15)
    assert listed.version() == "16"

    listed.list_again(17, secret(16))
    assert listed.version() == "16"


def test_an_own_write_that_somebody_wrote_over_does_not_count(listed: Listed) -> None:
    listed.informer.note_written(secret(11))

    listed.list_again(15, secret(14))

    assert listed.version() == "14"


def test_what_was_made_again_under_its_name_is_the_new_one(listed: Listed) -> None:
    listed.informer.note_written(secret(11))

    listed.list_again(15, secret(13, uid="another"))

    assert listed.version() == "13"


def test_an_own_deletion_after_an_own_write_counts_if_the_list_is_older(listed: Listed) -> None:
    listed.informer.note_written(secret(16))
    listed.informer.note_deleted("a", "s", "u")

    listed.list_again(15)

    assert listed.version() == ""
