"""What keeps one machine from being changed in place is its own, and the updater lives on."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.kube.cluster_api.updater import Reach, Updater
from fairlead.kube.resource import MACHINES
from unit.kube.one_operator import OneOperator, one_operator
from unit.kube.small_server import Reply

HEADING_FOR, CHANGE = "fairlead.dev/heading-for", "fairlead.dev/change"
BROKEN: Reply = (500, {"message": "the server is gone"}, False)
WELL: Reply = (200, {}, False)


class Updated:
    """Machines that head for another revision, and the updater that is to take them there."""

    def __init__(self, one: OneOperator) -> None:
        self.one = one
        self.said: list[str] = []
        self._copies = one.operator.world.copies
        reach = Reach(self._copies, one.operator.world.workloads, one.operator.world.secrets)
        self._updater = Updater(reach, "image:1", self.said.append, lambda: one.now)

    def machine(self, name: str, **annotations: str) -> None:
        """Have a machine that heads for another revision."""
        self.one.machine(name, **{HEADING_FOR: "new", **annotations})

    def tick(self) -> None:
        """Look, and let every machine make its next move."""
        self._copies.look()
        self._updater.tick()

    def change(self, name: str) -> str:
        """What is told at a machine of its change."""
        found = self.one.server.get(MACHINES, name)
        assert found is not None
        return str(found["metadata"]["annotations"].get(CHANGE, ""))


@pytest.fixture
def updated() -> Iterator[Updated]:
    with one_operator() as one:
        yield Updated(one)


def annotated(value: str) -> dict[str, Any]:
    return {CHANGE: value}


@pytest.mark.parametrize("garbage", ["{", "7", '{"to": 7}', "null", '{"to": "new"}'])
def test_a_damaged_machine_is_told_once_and_keeps_no_other_from_its_move(
    updated: Updated, garbage: str
) -> None:
    updated.machine("damaged", **annotated(garbage))
    updated.machine("sound")

    updated.tick()
    updated.tick()

    (said,) = [one for one in updated.said if one.startswith("a/workers: damaged: ")]
    assert "the annotation fairlead.dev/change is none of ours" in said
    assert "remove it: the change begins again" in said
    assert updated.change("damaged") == garbage
    assert "there is no Secret c-kubeconfig in a yet" in updated.change("sound")


def test_a_server_that_is_gone_is_told_once_and_asked_again(updated: Updated) -> None:
    updated.machine("first")
    updated.machine("second")
    updated.one.server.reply = lambda method, *_: BROKEN if method == "PUT" else WELL

    updated.tick()
    updated.tick()

    told = [one for one in updated.said if "the server is gone" in one]
    assert [one.partition(": /")[0] for one in told] == ["a/workers: first", "a/workers: second"]

    updated.one.server.reply = lambda *_: WELL
    updated.tick()

    assert "there is no Secret c-kubeconfig" in updated.change("first")
    assert "there is no Secret c-kubeconfig" in updated.change("second")
