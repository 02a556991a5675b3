"""The commands' door: every route over a real Unix socket, a real server and a real store."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fairlead.controller.loop import Failure
from fairlead.embedded.access.peer import user_name
from fairlead.embedded.serve.api import make_api
from fairlead.embedded.serve.unix_socket import bind, connect
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import ConflictError, InputError, InvariantError, UnavailableError
from pool_documents import platform_document, pool_document
from service.raw_client import RawClient
from service.served_app import ServedApp, served_app
from service.stored_plane import StoredPlane

BASE = "202608.01"
REPORT = b'{"run": "1", "agent": "a", "layout": "aks", "started": "now", "took_ms": 61.5}'


class Commands:
    """A client, the plane behind it, and the thread that it lives on."""

    def __init__(self, directory: StateDirectory, plane: StoredPlane, app: ServedApp) -> None:
        self.directory = directory
        self.plane = plane
        self.app = app
        self.ask = RawClient(directory).request

    def settle(self) -> None:
        self.app.call(self.plane.settle)

    def apply(self, *documents: Any) -> Any:
        """What `fairlead apply` does: show, then apply what was shown."""
        plans = self.ask("POST", "/v1/plan", {"documents": [*documents]})["plans"]
        return self.ask("POST", "/v1/apply", {"documents": [*documents], "plans": plans})

    def status_of(self, method: str, path: str, body: Any = None) -> int:
        """The bare HTTP status, without what the client makes of it."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = connect(self.directory.socket, 10)
        try:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, content if body is not None else None)
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Commands]:
    directory = StateDirectory(tmp_path)
    directory.make()
    planes: list[StoredPlane] = []

    def make() -> Any:
        planes.append(StoredPlane(tmp_path))
        return make_api(planes[0])

    with served_app(make, bind(directory.socket)) as app:
        yield Commands(directory, planes[0], app)
        app.call(planes[0].close)


@pytest.fixture
def commands(fresh: Commands) -> Commands:
    """A plane whose pool of three, called workers, is settled."""
    fresh.apply(pool_document(), platform_document())
    fresh.settle()
    return fresh


# The plane itself.


def test_health_is_what_the_plane_says(fresh: Commands) -> None:
    assert fresh.ask("GET", "/v1/health") == {
        "version": "0",
        "pid": os.getpid(),
        "started_at": "2026-07-01T12:00:00.000Z",
        "payload_endpoint": "https://127.0.0.1:1",
        "machines": "directory",
        "pools": 0,
        "damage": [],
    }


def test_stop_reaches_the_plane(fresh: Commands) -> None:
    assert fresh.ask("POST", "/v1/stop") == {}
    assert fresh.plane.is_stopped


def test_the_socket_is_for_its_owner_only(fresh: Commands) -> None:
    mode = fresh.directory.socket.stat().st_mode

    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


# Pools.


def test_a_plane_without_pools_lists_none(fresh: Commands) -> None:
    assert fresh.ask("GET", "/v1/pools") == {"pools": []}
    assert fresh.ask("GET", "/v1/machines") == {"machines": []}
    assert fresh.ask("GET", "/v1/events") == {"events": []}


def test_applying_what_was_shown_makes_a_pool(fresh: Commands) -> None:
    answer = fresh.apply(pool_document(), platform_document())
    fresh.settle()

    assert answer["applied"] == ["NodePool/workers", "PlatformConfig/platform"]
    assert [(plan["is_new"], plan["creates"]) for plan in answer["plans"]] == [(True, 3)]
    assert fresh.plane.woken == 1
    pools = fresh.ask("GET", "/v1/pools")["pools"]
    assert [(pool["name"], pool["state"], pool["available"]) for pool in pools] == [
        ("workers", "Settled", 3)
    ]


def test_a_pool_is_shown_in_full(commands: Commands) -> None:
    pool = commands.ask("GET", "/v1/pools/workers")

    assert pool["document"] == pool_document()
    assert [machine["name"] for machine in pool["machines"]] == [
        "workers-2",
        "workers-3",
        "workers-4",
    ]
    assert pool["plan"]["change"] == "none"
    assert pool["applied"]["version"] == "1.34.2"
    assert {row["type"] for row in pool["conditions"]} >= {"Ready", "ConfigUpdatePending"}


def test_a_plan_is_shown_and_nothing_is_written_or_woken(commands: Commands) -> None:
    woken = commands.plane.woken

    plans = commands.ask("POST", "/v1/plan", {"documents": [pool_document(imageBase=BASE)]})

    assert [plan["machines"] for plan in plans["plans"]] == [
        ["workers-2", "workers-3", "workers-4"]
    ]
    assert commands.ask("GET", "/v1/pools/workers")["document"] == pool_document()
    assert commands.plane.woken == woken


def test_applying_dry_writes_nothing(commands: Commands) -> None:
    body = {"documents": [pool_document(imageBase=BASE)], "plans": None, "dry_run": True}

    answer = commands.ask("POST", "/v1/apply", body)

    assert answer["applied"] == ["NodePool/workers"]
    assert commands.ask("GET", "/v1/pools/workers")["document"] == pool_document()


def test_applying_what_is_so_says_that_nothing_changed(commands: Commands) -> None:
    answer = commands.apply(pool_document())

    assert (answer["applied"], answer["unchanged"]) == ([], ["NodePool/workers"])


def test_applying_beyond_what_was_shown_is_a_conflict_in_words(commands: Commands) -> None:
    document = pool_document(imageBase=BASE)
    plans = commands.ask("POST", "/v1/plan", {"documents": [document]})["plans"]
    plans[0]["machines"].remove("workers-3")

    body = {"documents": [document], "plans": plans}
    with pytest.raises(ConflictError) as raised:
        commands.ask("POST", "/v1/apply", body)

    assert str(raised.value).startswith(
        "workers: the plan that was shown does not hold workers-3 ("
    )
    assert str(raised.value).endswith(
        ", 2026-07-01T12:00:00Z: workers-3 was made: the pool declares 3); "
        "nothing was written, plan again"
    )
    assert commands.status_of("POST", "/v1/apply", body) == 409


def test_a_patch_changes_one_field_and_shows_the_plan(commands: Commands) -> None:
    answer = commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 5}})

    assert answer["applied"] == ["NodePool/workers"]
    assert (answer["plan"]["creates"], answer["plan"]["change"]) == (2, "in-place")
    assert answer["pool"]["desired"] == 5
    assert commands.ask("GET", "/v1/pools/workers")["document"] == pool_document(replicas=5)


def test_a_patch_with_nothing_removes_a_field(commands: Commands) -> None:
    commands.ask("PATCH", "/v1/pools/workers", {"spec": {"labels": {"a": "1", "b": "2"}}})
    commands.ask("PATCH", "/v1/pools/workers", {"spec": {"labels": {"a": None}}})

    spec = commands.ask("GET", "/v1/pools/workers")["document"]["spec"]
    assert spec["labels"] == {"b": "2"}


def test_a_patch_that_changes_nothing_says_so(commands: Commands) -> None:
    answer = commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 3}})

    assert answer["applied"] == []
    assert (answer["plan"]["change"], answer["plan"]["leaves"]) == ("none", [])


def test_a_dry_patch_shows_the_plan_that_a_later_one_is_held_to(commands: Commands) -> None:
    patch = {"spec": {"imageBase": BASE}}
    shown = commands.ask("PATCH", "/v1/pools/workers", {**patch, "dry_run": True})["plan"]
    assert commands.ask("GET", "/v1/pools/workers")["document"] == pool_document()

    commands.ask("PATCH", "/v1/platform", {"spec": {"controlPlaneImage": "cp@sha256:bb"}})
    with pytest.raises(ConflictError, match="platform inputs changed since the plan was shown"):
        commands.ask("PATCH", "/v1/pools/workers", {**patch, "plan": shown})

    again = commands.ask("PATCH", "/v1/pools/workers", {**patch, "dry_run": True})["plan"]
    commands.ask("PATCH", "/v1/pools/workers", {**patch, "plan": again})
    commands.settle()
    machines = commands.ask("GET", "/v1/machines")["machines"]
    assert not {machine["name"] for machine in machines} & set(again["machines"])


def test_a_patch_for_a_document_that_is_no_longer_in_force_is_refused(commands: Commands) -> None:
    base = commands.ask("GET", "/v1/pools/workers")["base"]
    patched = commands.ask(
        "PATCH", "/v1/pools/workers", {"spec": {"description": "mine"}, "base": base}
    )
    assert patched["base"] == base, "what it took the place of"

    changed = r"NodePool/workers was changed by \S+ at 2026-07-01T12:03:00Z since"
    with pytest.raises(ConflictError, match=changed):
        commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 9}, "base": base})

    spec = commands.ask("GET", "/v1/pools/workers")["document"]["spec"]
    assert (spec["replicas"], spec["description"]) == (3, "mine")


def test_a_patch_takes_no_plan_of_another_pool(commands: Commands) -> None:
    shown = commands.ask("GET", "/v1/pools/workers")["plan"] | {"pool": "gpu"}

    with pytest.raises(InputError, match=r"plan\.pool: is a plan of 'gpu'"):
        commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 4}, "plan": shown})


def test_deleting_a_pool_can_be_tried_and_names_its_machines(commands: Commands) -> None:
    names = ["workers-2", "workers-3", "workers-4"]
    tried = commands.ask("DELETE", "/v1/pools/workers", {"dry_run": True})
    assert tried["machines"] == names
    commands.settle()
    assert len(commands.ask("GET", "/v1/machines")["machines"]) == 3

    assert commands.ask("DELETE", "/v1/pools/workers", {"shown": tried}) == tried
    assert commands.ask("GET", "/v1/pools/workers")["state"] == "Leaving"
    with pytest.raises(ConflictError, match="is being deleted"):
        commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 9}})
    commands.settle()

    assert commands.ask("GET", "/v1/pools") == {"pools": []}
    gone = commands.ask("GET", "/v1/machines?gone=1")["machines"]
    assert {machine["reason"] for machine in gone} == {"the pool was deleted"}
    shown = commands.ask("GET", "/v1/machines/workers-2")
    assert shown["sentence"].startswith("workers-2 is gone since 2026-07-01T12:")
    assert shown["sentence"].endswith(": the pool was deleted.")


def test_faults_are_queued_for_the_next_machines(commands: Commands) -> None:
    commands.ask("POST", "/v1/pools/workers/faults", {"faults": ["fail-boot", "never-join"]})
    commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 6}})
    commands.settle()

    machines = commands.ask("GET", "/v1/machines?pool=workers")["machines"]
    assert [machine["fault"] for machine in machines][-3:] == ["fail-boot", "never-join", "none"]


# The platform.


def test_the_platform_is_shown_with_the_pools_that_lack_a_leaf(commands: Commands) -> None:
    answer = commands.ask("PATCH", "/v1/platform", {"spec": {"controlPlaneImage": "cp@sha256:bb"}})

    assert answer["applied"] == ["PlatformConfig/platform"]
    assert [(plan["pool"], plan["change"]) for plan in answer["plans"]] == [("workers", "none")]
    for platform in (answer["platform"], commands.ask("GET", "/v1/platform")):
        row = next(row for row in platform["leaves"] if row["leaf"] == "platform.controlPlaneImage")
        assert row == {
            "leaf": "platform.controlPlaneImage",
            "owner": "control plane",
            "severity": "routine",
            "value": "cp@sha256:bb",
            "held_by": ["workers"],
        }


def test_a_dry_patch_of_the_platform_writes_nothing(commands: Commands) -> None:
    body = {"spec": {"controlPlaneImage": "cp@sha256:bb"}, "dry_run": True}

    answer = commands.ask("PATCH", "/v1/platform", body)

    assert answer["plans"][0]["leaves"][0]["after"] == "cp@sha256:bb"
    assert commands.ask("GET", "/v1/platform")["document"] == platform_document()


def test_a_held_change_carries_both_values(commands: Commands) -> None:
    commands.ask("PATCH", "/v1/platform", {"spec": {"loadBalancerAddress": "10.0.0.9"}})
    commands.settle()

    held = commands.ask("GET", "/v1/pools/workers")["held"]

    assert [(row["leaf"], row["severity"], row["before"], row["after"]) for row in held] == [
        ("platform.loadBalancerAddress", "connectivity", "10.0.0.4", "10.0.0.9")
    ]


# Machines and events.


def test_machines_are_listed_of_one_pool_or_of_all(commands: Commands) -> None:
    commands.apply(pool_document("gpu", replicas=1))
    commands.settle()

    everywhere = commands.ask("GET", "/v1/machines")["machines"]
    here = commands.ask("GET", "/v1/machines?pool=gpu")["machines"]

    assert [machine["pool"] for machine in everywhere] == ["workers"] * 3 + ["gpu"]
    assert [machine["pool"] for machine in here] == ["gpu"]


def test_a_machine_is_shown_with_its_report_its_story_and_what_it_lacks(
    commands: Commands,
) -> None:
    commands.app.call(lambda: commands.plane.world.machines.write_report("workers-4", REPORT))
    commands.ask("PATCH", "/v1/pools/workers", {"spec": {"imageBase": BASE}})
    commands.app.call(commands.plane.one_pass)

    machine = commands.ask("GET", "/v1/machines/workers-4")

    assert (machine["boot_ms"], machine["report"]["took_ms"]) == (61.5, 61.5)
    assert [(leaf["leaf"], leaf["after"]) for leaf in machine["difference"]] == [
        ("imageBase", BASE)
    ]
    assert machine["sentence"] == (
        "workers-4 will be replaced because the pool's owner changed imageBase; "
        "3 machines wait for their turn."
    )
    commands.settle()
    gone = commands.ask("GET", "/v1/machines/workers-4")
    assert [event["kind"] for event in gone["events"]] == [
        "MachineCreated", "MachineLeaves", "MachineGone",
    ]  # fmt: skip
    assert gone["reason"] == "the pool's owner changed imageBase"
    assert gone["difference"] == []


def test_what_a_machine_ignored_and_what_none_applies_is_told(commands: Commands) -> None:
    facts = (
        b', "facts": {"receipt": {"ignored": {"count": 2, "paths": ["fairlead[imageBase]", 7]}}}}'
    )
    report = REPORT[:-1] + facts
    commands.app.call(lambda: commands.plane.world.machines.write_report("workers-2", report))

    pool = commands.ask("GET", "/v1/pools/workers")

    ignored = {machine["name"]: machine["ignored"] for machine in pool["machines"]}
    assert ignored["workers-2"] == ["fairlead[imageBase]"]
    assert [found["leaf"] for found in pool["not_applied"]] == [
        "imageBase", "machineTemplate.vmSize", "release.digest", "release.version",
    ]  # fmt: skip
    condition = next(row for row in pool["conditions"] if row["type"] == "AllApplied")
    assert (condition["status"], condition["reason"]) == ("False", "NotApplied")


def test_a_setting_that_no_machine_here_applies_is_told(commands: Commands) -> None:
    commands.ask("POST", "/v1/apply", {"documents": [pool_document(timeouts={"detach": "5m"})]})

    pool = commands.ask("GET", "/v1/pools/workers")

    [found] = [one for one in pool["not_applied"] if one["leaf"] == "timeouts.detach"]
    assert found["why"] == "machines here have no volumes to detach"
    condition = next(row for row in pool["conditions"] if row["type"] == "AllApplied")
    assert "timeouts.detach: machines here have no volumes to detach" in condition["message"]


def test_a_pool_is_scaled_within_the_bounds_of_its_autoscaling(commands: Commands) -> None:
    bounds = {"replicas": None, "autoscaling": {"min": 2, "max": 4}}
    commands.ask("PATCH", "/v1/pools/workers", {"spec": bounds})
    commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 4}})
    commands.settle()

    assert len(commands.ask("GET", "/v1/machines?pool=workers")["machines"]) == 4
    with pytest.raises(InputError, match="found 5, expected 2 to 4, the bounds of autoscaling"):
        commands.ask("PATCH", "/v1/pools/workers", {"spec": {"replicas": 5}})


def test_a_machine_is_deleted_by_hand(commands: Commands) -> None:
    commands.ask("DELETE", "/v1/machines/workers-2")
    assert commands.ask("GET", "/v1/machines/workers-2")["sentence"] == (
        f"workers-2 leaves: deleted by hand (asked by {user_name(os.geteuid())})."
    )
    commands.settle()

    assert len(commands.ask("GET", "/v1/machines")["machines"]) == 3
    with pytest.raises(InputError, match="there is no living machine 'workers-2'"):
        commands.ask("DELETE", "/v1/machines/workers-2")


def test_a_machine_is_broken_on_request(commands: Commands) -> None:
    commands.ask("POST", "/v1/machines/workers-2/fault", {"fault": "break"})

    assert commands.ask("GET", "/v1/machines/workers-2")["fault"] == "break"


def test_events_are_the_latest_of_all_or_of_one(commands: Commands) -> None:
    commands.apply(pool_document("gpu", replicas=1))
    commands.settle()
    commands.ask("DELETE", "/v1/machines/workers-2")
    commands.settle()

    every = commands.ask("GET", "/v1/events")["events"]
    of_pool = commands.ask("GET", "/v1/events?pool=gpu")["events"]
    of_machine = commands.ask("GET", "/v1/events?machine=workers-2")["events"]
    last = commands.ask("GET", "/v1/events?limit=1")["events"]

    assert every[0]["kind"] == "PoolDeclared"
    assert [event["at"] for event in every] == sorted(event["at"] for event in every)
    assert {event["pool"] for event in of_pool} == {"gpu"}
    assert [event["says"] for event in of_machine] == [
        "workers-2 was made: the pool declares 3.",
        "workers-2 leaves: deleted by hand.",
        "workers-2 is gone: deleted by hand.",
    ]
    assert last == every[-1:]
    assert commands.ask("GET", "/v1/events?pool=gpu&machine=workers-2") == {"events": []}


# What goes wrong.


@pytest.mark.parametrize(
    ("method", "path", "says"),
    [
        ("GET", "/v1/pools/wrokers", "there is no pool 'wrokers' (there is workers)"),
        ("PATCH", "/v1/pools/wrokers", "there is no pool 'wrokers' (there is workers)"),
        ("DELETE", "/v1/pools/wrokers", "there is no pool 'wrokers' (there is workers)"),
        ("POST", "/v1/pools/x/faults", "there is no pool 'x' (there is workers)"),
        ("GET", "/v1/machines?pool=x", "there is no pool 'x' (there is workers)"),
        (
            "GET",
            "/v1/machines/x",
            "there is no machine 'x' (there is workers-2, workers-3, workers-4)",
        ),
        (
            "DELETE",
            "/v1/machines/x",
            "there is no machine 'x' (there is workers-2, workers-3, workers-4)",
        ),
        ("GET", "/v2/pools", "the control plane has nothing there: Not Found"),
        ("PUT", "/v1/pools", "the control plane has nothing there: Method Not Allowed"),
    ],
)
def test_what_is_not_there_is_404_and_says_what_is(
    commands: Commands, method: str, path: str, says: str
) -> None:
    with pytest.raises(InputError) as raised:
        commands.ask(method, path)

    assert str(raised.value) == says
    assert commands.status_of(method, path) == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/v1/plan", {}, "documents"),
        ("POST", "/v1/plan", {"documents": {}}, "documents"),
        ("POST", "/v1/plan", {"document": []}, "document"),
        ("POST", "/v1/plan", {"documents": [pool_document(replicsa=1)]}, "spec.replicsa"),
        ("POST", "/v1/apply", {"documents": [pool_document()], "plans": {}}, "plans"),
        ("POST", "/v1/apply", {"documents": [pool_document()], "plans": [1]}, "plans[0]"),
        ("POST", "/v1/apply", {"documents": [pool_document()], "dry_run": 1}, "dry_run"),
        ("PATCH", "/v1/pools/workers", {"spec": {"replicas": -1}}, "spec.replicas"),
        ("PATCH", "/v1/pools/workers", {"spec": []}, "spec"),
        ("PATCH", "/v1/pools/workers", {"plan": 7}, "plan"),
        (
            "PATCH",
            "/v1/pools/workers",
            {"spec": {"management": {"type": "InPlace"}}},
            "spec.management.type",
        ),
        ("PATCH", "/v1/platform", {"spec": {"noproxy": []}, "dryrun": True}, "dryrun"),
        ("POST", "/v1/pools/workers/faults", {"faults": ["explode"]}, "faults[0]"),
        ("POST", "/v1/machines/workers-2/fault", {"fault": "explode"}, "fault"),
        ("POST", "/v1/machines/workers-2/fault", {}, "fault"),
        ("GET", "/v1/events?limit=none", None, "limit"),
        ("GET", "/v1/events?limit=0", None, "limit"),
    ],
)
def test_what_a_person_must_change_is_400_and_names_the_field(
    commands: Commands, method: str, path: str, body: Any, field: str
) -> None:
    with pytest.raises(InputError) as raised:
        commands.ask(method, path, body)

    assert raised.value.field == field
    assert commands.status_of(method, path, body) == 400


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"documents": NaN}', b"\xff", b"x" * (17 << 20)])
def test_a_body_that_is_no_request_is_400(commands: Commands, body: bytes) -> None:
    assert commands.status_of("POST", "/v1/plan", body) == 400


def test_an_error_that_nobody_expected_is_an_invariant_error_here(commands: Commands) -> None:
    commands.plane.world.journal = None  # type: ignore[assignment]

    with pytest.raises(InvariantError, match="a defect of the control plane: AttributeError"):
        commands.ask("GET", "/v1/events")
    assert commands.status_of("GET", "/v1/events") == 500


def test_a_store_that_fails_is_503_and_unavailable_here(commands: Commands) -> None:
    def lose() -> None:
        with commands.plane.store.writing() as connection:
            connection.execute("ALTER TABLE events RENAME TO lost")

    commands.app.call(lose)

    with pytest.raises(UnavailableError, match="no such table: events"):
        commands.ask("GET", "/v1/events")
    assert commands.status_of("GET", "/v1/events") == 503


def test_no_answer_holds_a_token_or_what_a_secret_holds(commands: Commands) -> None:
    commands.ask("PATCH", "/v1/pools/workers", {"spec": {"secretContent": "Roll"}})
    path = commands.directory.secrets / "registry-login"
    path.write_text('{"auths": {}}')
    os.utime(path, (0, 0))
    commands.app.call(commands.plane.world.pools.markers)
    answers = [
        commands.ask("GET", path)
        for path in (
            "/v1/pools",
            "/v1/pools/workers",
            "/v1/platform",
            "/v1/machines?gone=1",
            "/v1/machines/workers-2",
            "/v1/events",
        )
    ]
    answers.append(commands.ask("POST", "/v1/plan", {"documents": [pool_document()]}))

    text = json.dumps(answers)
    assert "pullSecret.content" in text
    assert "hunter" not in text
    assert "secret-token" not in text


# The way there.


def test_a_directory_without_a_control_plane_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as raised:
        RawClient(StateDirectory(tmp_path / "nowhere")).request("GET", "/v1/health")

    assert str(raised.value) == (
        f"no control plane runs in {tmp_path / 'nowhere'} (start one: fairlead up)"
    )


def test_a_control_plane_that_was_killed_left_its_socket_and_nobody_answers(
    tmp_path: Path,
) -> None:
    directory = StateDirectory(tmp_path)
    bind(directory.socket).close()

    with pytest.raises(UnavailableError, match="no control plane runs"):
        RawClient(directory).request("GET", "/v1/health")

    # The next one takes its place.
    bind(directory.socket).close()


def test_something_that_is_no_socket_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    path.write_text("precious")

    with pytest.raises(ConflictError, match="is no socket"):
        bind(path)
    assert path.read_text() == "precious"


def test_a_server_that_says_nothing_is_unavailable_in_time(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    with bind(directory.socket) as bound:
        bound.listen()
        with pytest.raises(UnavailableError, match="did not answer: timed out"):
            RawClient(directory, timeout_s=0.2).request("GET", "/v1/health")


def test_a_server_that_speaks_nonsense_is_unavailable(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    with bind(directory.socket) as bound:
        bound.listen()
        script = (
            "import socket, sys\n"
            "s = socket.socket(fileno=int(sys.argv[1]))\n"
            "c = s.accept()[0]; c.recv(9999); c.sendall(b'nonsense\\r\\n\\r\\n'); c.close()\n"
        )
        number = str(bound.fileno())
        with subprocess.Popen(
            [sys.executable, "-c", script, number], pass_fds=[bound.fileno()]
        ) as server:
            with pytest.raises(UnavailableError, match="did not answer"):
                RawClient(directory, timeout_s=10).request("GET", "/v1/health")
            assert server.wait(10) == 0


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Shorter than what pytest gives: a socket's path is to be of 60 letters."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@pytest.mark.parametrize("length", [60, 107, 108, 109, 400])
def test_a_path_of_any_length_works(short_path: Path, length: int) -> None:
    room = length - len(str(short_path)) - len("/api.sock")
    inner = short_path
    while room > 0:
        part = min(room - 1, 200)
        if room - 1 - part == 1:  # a slash alone is no directory
            part -= 1
        inner /= "d" * part
        room -= part + 1
    inner.mkdir(parents=True, exist_ok=True)
    path = inner / "api.sock"
    assert len(str(path)) == length

    with bind(path) as bound:
        bound.listen()
        with connect(path, 5) as connection, bound.accept()[0] as accepted:
            connection.sendall(b"hello")
            assert accepted.recv(9) == b"hello"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_client_does_not_load_what_a_command_must_not_wait_for() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, fairlead.embedded.serve.client; print(' '.join(sys.modules))",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    dear = {"starlette", "uvicorn", "rich", "yaml", "cryptography", "sqlite3", "asyncio"}
    assert not dear & set(loaded)


def test_a_server_on_a_path_too_long_for_the_kernel_answers_commands(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 150)
    directory = StateDirectory(deep)
    directory.make()
    planes: list[StoredPlane] = []

    def make() -> Any:
        planes.append(StoredPlane(deep))
        return make_api(planes[0])

    with served_app(make, bind(directory.socket)) as app:
        assert RawClient(directory).request("GET", "/v1/health")["pools"] == 0
        app.call(planes[0].close)


def test_a_half_request_blocks_nobody(commands: Commands) -> None:
    with connect(commands.directory.socket, 5) as connection:
        connection.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert commands.ask("GET", "/v1/health")["pools"] == 1
        connection.shutdown(socket.SHUT_WR)


def test_a_pool_whose_pass_failed_says_so_and_when_it_is_tried_again(commands: Commands) -> None:
    retry_at = datetime(2026, 7, 2, 12, 0, 2, tzinfo=UTC)
    failure = Failure(says="the disk is full", count=2, retry_at=retry_at)
    commands.plane.failed["workers"] = failure

    for path in ("/v1/pools/workers", "/v1/pools"):
        answer = commands.ask("GET", path)
        pool = answer["pools"][0] if "pools" in answer else answer
        assert pool["waits"][0] == {
            "for": "PassFailed",
            "says": "the last pass failed: the disk is full",
            "machine": "",
            "until": "2026-07-02T12:00:02.000Z",
        }


def test_applying_a_file_releases_no_brake_that_it_does_not_mention(commands: Commands) -> None:
    commands.ask("PATCH", "/v1/pools/workers", {"spec": {"paused": True}})
    commands.ask("PATCH", "/v1/platform", {"spec": {"stopEverything": True}})

    commands.apply(pool_document(imageBase="202608.01"), platform_document())

    assert commands.ask("GET", "/v1/pools/workers")["is_paused"] is True
    platform = commands.ask("GET", "/v1/platform")["document"]["spec"]
    assert platform["stopEverything"] is True
    commands.apply(pool_document(paused=False), platform_document(stopEverything=False))
    assert commands.ask("GET", "/v1/pools/workers")["is_paused"] is False
