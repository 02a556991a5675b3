"""Who acted, in the journal: the user of the socket, and through the passes that follow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fairlead.answers.event import Event
from pool_documents import platform_document, pool_document
from service.stored_plane import StoredPlane
from service.test_roles import Asked

ALICE, BOB = 7001, 7002


class Office(Asked):
    """Alice and Bob, who own pools and the platform."""

    def does(self, who: int, method: str, path: str, body: Any = None) -> Any:
        self.plane.moment += timedelta(seconds=1)
        status, answer = self(who, method, path, body)
        assert status == 200, answer
        return answer

    def events(self) -> list[Event]:
        return list(self.plane.world.journal.read_all(10_000))

    def since(self, before: list[Event]) -> list[tuple[str, str, str]]:
        """Kind, actor and asker of what was told since."""
        fresh = self.events()[len(before) :]
        return [(event.kind.value, event.actor, event.asked_by) for event in fresh]


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    plane = StoredPlane(tmp_path / "state")
    plane.directory.roles.write_text(
        f"fairlead-platform user {ALICE}\nfairlead-platform user {BOB}\n"
    )
    try:
        found = Office(plane)
        found.does(ALICE, "POST", "/v1/apply", {"documents": [pool_document()]})
        plane.settle()
        yield found
    finally:
        plane.close()


PLANE = "the control plane"


def test_a_first_pool_is_declared_by_somebody_and_made_for_them(office: Office) -> None:
    assert office.since([]) == [
        ("PoolDeclared", "7001", ""),
        ("PoolAdopted", PLANE, "7001"),
        *[("MachineCreated", PLANE, "7001")] * 3,
        ("RolloutCompleted", PLANE, "7001"),
    ]


def test_a_rollout_is_asked_for_by_who_declared_it_whoever_scales_meanwhile(
    office: Office,
) -> None:
    before = office.events()
    office.does(BOB, "PATCH", "/v1/pools/workers", {"spec": {"imageBase": "202607.03"}})
    office.plane.one_pass()
    office.does(ALICE, "PATCH", "/v1/pools/workers", {"spec": {"replicas": 4}})
    office.plane.settle()

    told = office.since(before)
    assert told[0] == ("PoolDeclared", "7002", "")
    assert ("RolloutStarted", PLANE, "7002") in told
    assert ("PoolDeclared", "7001", "") in told
    leaves = [row for row in told if row[0] in ("MachineLeaves", "MachineGone")]
    assert leaves
    assert set(leaves) == {("MachineLeaves", PLANE, "7002"), ("MachineGone", PLANE, "7002")}
    assert ("RolloutCompleted", PLANE, "7002") in told


def test_fewer_machines_are_asked_for_by_who_scaled(office: Office) -> None:
    before = office.events()
    office.does(BOB, "PATCH", "/v1/pools/workers", {"spec": {"replicas": 2}})
    office.plane.settle()

    assert office.since(before) == [
        ("PoolDeclared", "7002", ""),
        ("MachineLeaves", PLANE, "7002"),
        ("MachineGone", PLANE, "7002"),
    ]


def test_a_machine_deleted_by_hand_is_told_at_once_by_whose_hand(office: Office) -> None:
    name, before = office.plane.names()[0], office.events()
    office.does(BOB, "DELETE", f"/v1/machines/{name}", {"force": True})
    at_once = office.since(before)
    office.plane.settle()

    assert at_once == [("MachineLeaves", "7002", "7002"), ("DrainSkipped", "7002", "7002")]
    assert sorted(office.since(before)[2:]) == [
        ("MachineCreated", PLANE, "7001"),
        ("MachineGone", PLANE, "7002"),
    ]
    keys = [event.key for event in office.events()]
    assert keys.count(f"MachineLeaves:{name}") == 1


def test_the_end_of_a_pool_is_asked_for_by_who_deleted_it(office: Office) -> None:
    before = office.events()
    office.does(BOB, "DELETE", "/v1/pools/workers")
    office.plane.settle()

    told = office.since(before)
    assert told[0] == ("PoolDeletionAsked", "7002", "")
    assert told.count(("MachineLeaves", PLANE, "7002")) == 3
    assert told[-1] == ("PoolDeleted", PLANE, "7002")


def test_what_the_platform_does_and_what_is_asked_of_the_plane_has_a_name(office: Office) -> None:
    before = office.events()
    name = office.plane.names()[0]
    office.does(ALICE, "POST", "/v1/apply", {"documents": [platform_document()]})
    office.does(BOB, "POST", "/v1/pools/workers/faults", {"faults": ["fail-boot"]})
    office.does(BOB, "POST", f"/v1/machines/{name}/fault", {"fault": "break"})
    office.does(ALICE, "POST", "/v1/stop")

    assert office.since(before) == [
        ("PlatformDeclared", "7001", ""),
        ("FaultAsked", "7002", ""),
        ("FaultAsked", "7002", ""),
        ("ControlPlaneStopAsked", "7001", ""),
    ]


def test_what_says_nothing_new_is_nobodys_act(office: Office) -> None:
    before = office.events()
    office.does(BOB, "POST", "/v1/apply", {"documents": [pool_document()]})
    office.does(BOB, "POST", "/v1/plan", {"documents": [pool_document(replicas=9)]})
    office.does(BOB, "PATCH", "/v1/pools/workers", {"spec": {"replicas": 9}, "dry_run": True})

    assert office.since(before) == []


def test_the_history_of_a_pool_says_whose_each_document_was(office: Office) -> None:
    office.does(BOB, "PATCH", "/v1/pools/workers", {"spec": {"replicas": 4}})

    kept = office.does(ALICE, "GET", "/v1/pools/workers/history")["documents"]

    assert [document["actor"] for document in kept] == ["7001", "7002"]


def test_a_machine_that_leaves_says_who_asked_for_it(office: Office) -> None:
    office.does(BOB, "PATCH", "/v1/pools/workers", {"spec": {"replicas": 2}})
    office.plane.one_pass()
    leaving = next(
        machine.name for machine in office.plane.world.machines.list_all() if machine.is_leaving
    )

    told = office.does(ALICE, "GET", f"/v1/machines/{leaving}")["sentence"]

    assert told == f"{leaving} leaves: the pool was scaled down (asked by 7002)."


def test_events_of_a_release_that_noted_nobody_are_shown_without_a_name(office: Office) -> None:
    store = office.plane.store
    with store.writing() as connection:
        connection.execute(
            "INSERT INTO events (pool, key, at, machine, value) VALUES (?, ?, ?, ?, ?)",
            (
                "workers",
                "MachinesCreated:old:0",
                "2026-06-01T00:00:00+00:00",
                "",
                '{"kind":"MachinesCreated","pool":"workers","at":"2026-06-01T00:00:00+00:00",'
                '"key":"MachinesCreated:old:0","says":"Machines created: 3.","machine":""}',
            ),
        )

    told = office.events()[-1]

    assert (told.says, told.actor, told.asked_by, told.whose) == (
        "Machines created: 3.",
        "",
        "",
        "",
    )


def test_a_control_plane_that_was_only_stopped_has_had_no_pool(tmp_path: Path) -> None:
    plane = StoredPlane(tmp_path / "state")
    try:
        asked = Asked(plane)
        assert asked(0, "POST", "/v1/stop")[0] == 200
        assert plane.world.is_untouched()
    finally:
        plane.close()
