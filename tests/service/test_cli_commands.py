"""Every command against the real API: what it writes, what it says, how it exits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.answers.words import Phase
from fairlead.contract.json_text import encode_json
from service.cli_plane import Commands, command_plane
from service.stored_plane import StoredPlane
from shared_cases import REPOSITORY
from unit.boots.reports import make_fields

POOL = str(REPOSITORY / "examples/pool.yaml")
PLATFORM = str(REPOSITORY / "examples/platform.yaml")
TEXT = Path(POOL).read_text()


@pytest.fixture
def plane(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as commands:
        yield commands


@pytest.fixture
def workers(plane: Commands) -> Commands:
    """The pool of three of the example, and the platform's example."""
    assert plane.run("apply", "-f", PLATFORM).code == 0
    assert plane.run("apply", "-f", POOL).code == 0
    return plane


@pytest.fixture
def other(tmp_path: Path) -> str:
    """The pool with another version."""
    path = tmp_path / "other.yaml"
    path.write_text(TEXT.replace("1.34.2", "1.35.0"))
    return str(path)


def test_a_first_pool_is_planned_applied_and_listed(plane: Commands) -> None:
    planned = plane.run("plan", "-f", POOL)
    applied = plane.run("apply", "-f", POOL)
    listed = plane.run("pool", "list")

    assert (planned.code, planned.err) == (0, "")
    assert planned.out == "workers: new pool, 3 machines will be created\n"
    assert applied.code == 0
    assert applied.err == (
        "applied NodePool/workers\nworkers: 3 of 3 machines up to date, 3 available\n"
    )
    assert listed.out == (
        "POOL     STATE    VERSION  DESIRED  UPDATED  AVAILABLE  HELD  WAITS FOR\n"
        "workers  Settled  1.34.2   3        3        3          -     -\n"
    )


def test_planning_writes_nothing(plane: Commands) -> None:
    plane.run("plan", "-f", POOL)
    plane.run("apply", "-f", POOL, "--dry-run")

    assert plane.run("pool", "list").out == "no pool yet: fairlead apply -f examples/pool.yaml\n"


def test_a_change_of_intent_exits_10_and_names_leaf_order_and_estimate(
    workers: Commands, other: str
) -> None:
    planned = workers.run("plan", "-f", other)

    first, second, third = workers.machines()
    assert planned.code == 10
    assert planned.out == (
        "workers: 3 machines will be replaced because the pool's owner changed release.version\n"
        "  LEAF             CLASS   OWNER       BEFORE  AFTER\n"
        "  release.version  intent  pool owner  1.34.2  1.35.0\n"
        f"  order      {first}, {second}, {third}\n"
        "  takes      about 15 s\n"
    )


def test_applying_without_a_terminal_needs_yes_if_machines_are_disturbed(
    workers: Commands, other: str
) -> None:
    before = workers.machines()

    refused = workers.run("apply", "-f", other)

    assert refused.code == 2
    assert refused.err == (
        "fairlead: disturb 3 machines? needs an answer, and there is no terminal (use --yes)\n"
    )
    assert workers.machines() == before


def test_applying_with_yes_replaces_what_was_shown_and_stays_until_it_is_done(
    workers: Commands, other: str
) -> None:
    before = workers.machines()

    applied = workers.run("apply", "-f", other, "--yes")

    assert applied.code == 0
    assert applied.err.endswith("workers: 3 of 3 machines up to date, 3 available\n")
    assert not set(before) & set(workers.machines())
    assert workers.json("pool", "show", "workers")["version"] == "1.35.0"


def test_what_changes_in_place_needs_no_yes(workers: Commands, tmp_path: Path) -> None:
    (tmp_path / "four.yaml").write_text(TEXT.replace("replicas: 3", "replicas: 4"))

    assert workers.run("apply", "-f", str(tmp_path / "four.yaml")).code == 0

    assert len(workers.machines()) == 4


def test_a_plan_that_no_longer_holds_is_a_conflict_and_nothing_is_written(
    workers: Commands, other: str
) -> None:
    plans = workers.json("plan", "-f", other)["plans"]
    workers.run("pool", "scale", "workers", "5")
    from fairlead.cli.files.documents import read_documents
    from fairlead.errors import ConflictError
    from service.raw_client import RawClient

    body = {"documents": read_documents(Path(other)), "plans": plans, "dry_run": False}
    with pytest.raises(ConflictError, match="does not hold"):
        RawClient(workers.plane.directory).request("POST", "/v1/apply", body)

    assert workers.json("pool", "show", "workers")["version"] == "1.34.2"


def test_a_platform_change_is_held_and_explained_in_one_sentence(workers: Commands) -> None:
    before = workers.machines()

    changed = workers.run(
        "platform", "set", "proxy.image=haproxy@sha256:bb", "--notice-id", "CHG-7"
    )
    explained = workers.run("explain", "workers")

    assert changed.out == "1 pool holds this change (workers), no machine is replaced\n"
    lines = explained.out.splitlines()
    assert lines[0] == "held: 1 platform change, since 0 s, no machine will be replaced"
    assert lines[1].startswith("Held: 1 platform change (platform.proxy.image) since ")
    assert lines[4].split() == [
        "CHG-7", "platform.proxy.image", "networking", "routine", "0", "s",
        "haproxy@sha256:aa", "haproxy@sha256:bb",
    ]  # fmt: skip
    assert workers.machines() == before
    assert workers.json("explain", "workers")["summary"] == lines[0]


def test_a_platform_leaf_is_listed_with_the_pools_that_lack_it_and_can_be_unset(
    workers: Commands,
) -> None:
    workers.run("platform", "set", "proxy.image=haproxy@sha256:bb")

    rows = {row["leaf"]: row for row in workers.json("platform", "list")["leaves"]}
    assert rows["platform.proxy.image"]["held_by"] == ["workers"]
    assert rows["platform.noProxy"]["held_by"] == []

    workers.run("platform", "set", "proxy.image=haproxy@sha256:aa")
    assert workers.json("explain", "workers")["held"] == []

    workers.run("platform", "set", "proxy.image=")
    assert "image" not in workers.run("platform", "show").out


def test_a_dry_run_of_a_platform_change_writes_nothing(workers: Commands) -> None:
    workers.run("platform", "set", "proxy.image=haproxy@sha256:bb", "--dry-run")

    assert workers.json("explain", "workers")["held"] == []


def test_scaling_adds_machines_and_keeps_those_that_run(workers: Commands) -> None:
    before = workers.machines()

    said = workers.run("pool", "scale", "workers", "5")

    assert said.out.splitlines()[0] == "workers: 2 machines will be created"
    assert set(before) < set(workers.machines())
    assert len(workers.machines()) == 5


def test_a_paused_pool_waits_and_following_it_says_who_must_act(
    workers: Commands, tmp_path: Path
) -> None:
    before = workers.machines()
    (tmp_path / "paused.yaml").write_text(TEXT.replace("1.34.2", "1.35.0") + "  paused: true\n")

    paused = str(tmp_path / "paused.yaml")
    followed = workers.run("apply", "-f", paused, "--yes", "--timeout", "10")

    assert followed.code == 4
    assert followed.err.splitlines()[-1] == (
        "fairlead: workers waits: the pool is paused (fairlead pool resume workers)"
    )
    assert workers.machines() == before

    assert workers.run("pool", "resume", "workers").code == 0
    assert workers.run("rollout", "watch", "workers").code == 0
    assert not set(before) & set(workers.machines())


def test_a_pause_is_written_as_it_was_asked_for_and_replaces_an_earlier_one(
    workers: Commands,
) -> None:
    def paused() -> object:
        return workers.json("pool", "show", "workers")["document"]["spec"].get("paused")

    said = workers.run("pool", "pause", "workers", "--until", "2040-01-01T00:00:00Z")
    assert said.err == "fairlead pool resume workers ends the pause\n"
    assert paused() == {"until": "2040-01-01T00:00:00+00:00"}

    workers.run("pool", "pause", "workers", "--scaling-too")
    assert paused() == {"scalingToo": True}

    workers.run("pool", "pause", "workers")
    assert paused() is True

    workers.run("pool", "resume", "workers")
    assert paused() is None
    assert workers.run("pool", "resume", "workers").err == (
        "workers is neither paused nor halted\n"
    )


def test_a_moment_that_is_none_is_refused(workers: Commands) -> None:
    refused = workers.run("pool", "pause", "workers", "--until", "tomorrow")

    assert refused.code == 2
    assert refused.err == "fairlead: --until: 'tomorrow' is not an RFC 3339 date and time\n"


def test_forcing_shows_the_plan_asks_and_fires_once_per_value(workers: Commands) -> None:
    before = workers.machines()

    tried = workers.run("pool", "force", "workers", "--dry-run")
    refused = workers.run("pool", "force", "workers")
    assert tried.out.startswith("workers: 3 machines will be replaced because the pool's owner ")
    assert refused.code == 2
    assert refused.err.endswith("there is no terminal (use --yes)\n")
    assert workers.machines() == before

    assert workers.run("pool", "force", "workers", "--value", "once", "--yes").code == 0
    forced = workers.machines()
    assert not set(before) & set(forced)

    workers.run("pool", "force", "workers", "--value", "once", "--yes")
    assert workers.machines() == forced


def test_halting_says_how_to_undo_it(workers: Commands) -> None:
    halted = workers.run("rollout", "halt", "workers")
    stopped = workers.run("rollout", "halt", "--all")

    assert halted.err == "halted; fairlead pool resume workers undoes it\n"
    assert stopped.err == "halted; fairlead platform set stopEverything=false undoes it\n"
    waits = {wait["for"] for wait in workers.json("pool", "show", "workers")["waits"]}
    assert waits == {"Paused", "EverythingStopped"}
    assert workers.run("rollout", "halt").code == 2
    assert workers.run("rollout", "halt", "workers", "--all").code == 2


def test_under_the_kill_switch_scaling_waits_for_a_person(workers: Commands) -> None:
    workers.run("rollout", "halt", "--all")
    workers.run("pool", "scale", "workers", "5")

    followed = workers.run("rollout", "watch", "workers", "--timeout", "10")

    assert followed.code == 4
    assert "(fairlead platform set stopEverything=false)" in followed.err

    workers.run("platform", "set", "stopEverything=false")
    assert workers.run("rollout", "watch", "workers").code == 0


def test_a_rollout_that_goes_on_for_too_long_is_no_longer_followed(
    workers: Commands, other: str
) -> None:
    workers.sleep()

    left = workers.run("apply", "-f", other, "--yes", "--timeout", "0.3")

    assert left.code == 4
    assert left.err.splitlines()[-1] == "fairlead: not complete yet; the rollout goes on"


def test_no_wait_returns_at_once(workers: Commands, other: str) -> None:
    workers.sleep()

    assert workers.run("apply", "-f", other, "--yes", "--no-wait").code == 0

    status = workers.run("rollout", "status", "workers").out
    assert status.splitlines()[0].startswith("workers RollingOut  ")


def test_a_file_against_what_is_live_is_compared_leaf_by_leaf(
    workers: Commands, other: str, tmp_path: Path
) -> None:
    same = tmp_path / "same.yaml"
    same.write_text(TEXT.replace("maxSurge: 1  ", "maxSurge: 1") + "  timeouts: {}\n")

    assert workers.run("diff", "-f", str(same)).out == "NodePool/workers: no difference\n"
    assert workers.run("diff", "-f", str(same)).code == 0

    differs = workers.run("diff", "-f", other)
    assert differs.code == 10
    assert differs.out == (
        "NodePool/workers: 1 difference\n"
        "  LEAF             CLASS   OWNER       BEFORE  AFTER\n"
        "  release.version  intent  pool owner  1.34.2  1.35.0\n"
    )


def test_machines_are_compared_with_what_is_declared_now(workers: Commands) -> None:
    names = ", ".join(sorted(workers.machines()))
    assert workers.run("diff", "workers").code == 0

    workers.run("platform", "set", "proxy.image=haproxy@sha256:bb")
    differs = workers.run("diff", "workers")

    assert differs.code == 10
    lines = differs.out.splitlines()
    assert lines[0].endswith(": 1 difference")
    assert lines[1] == f"  on {names}"
    assert lines[3].split() == [
        "platform.proxy.image", "platform", "networking", "haproxy@sha256:aa", "haproxy@sha256:bb",
    ]  # fmt: skip
    assert workers.run("diff").code == 2


def test_a_machine_is_shown_explained_and_deleted(workers: Commands) -> None:
    name = workers.machines()[0]

    shown = workers.run("machine", "show", name).out
    explained = workers.run("explain", name).out
    assert shown.splitlines()[0] == f"{name} stays: it has what its pool is told."
    assert shown.startswith(explained)

    assert workers.run("machine", "delete", name, "--dry-run").out == (
        f"{name} would leave: deleted by hand\n"
    )
    assert name in workers.machines()
    assert (
        workers.run("machine", "delete", name, "--yes").out == f"{name} leaves: deleted by hand\n"
    )
    workers.settle()

    gone = {machine["name"] for machine in workers.json("machine", "list", "--gone")["machines"]}
    assert name not in workers.machines()
    assert name in gone
    assert len(workers.machines()) == 3
    again = workers.run("machine", "delete", name, "--yes")
    assert (again.code, again.err) == (2, f"fairlead: {name}: this machine is gone already\n")


def test_a_machine_whose_drain_is_stuck_is_forced_to_go(workers: Commands) -> None:
    name = workers.machines()[0]
    workers.run("machine", "fault", name, "stuck-drain")
    workers.run("machine", "delete", name, "--yes")
    workers.settle()
    assert name in workers.machines()

    said = workers.run("machine", "delete", name, "--force", "--dry-run")
    assert said.out == f"{name} would leave: deleted by hand, without its drain\n"
    assert name in workers.machines()
    said = workers.run("machine", "delete", name, "--force", "--yes")
    assert said.out == f"{name} leaves: deleted by hand, without its drain\n"
    workers.settle()

    assert name not in workers.machines()


def test_a_pool_that_leaves_is_watched_until_it_is_gone(workers: Commands) -> None:
    workers.sleep()
    workers.run("pool", "delete", "workers", "--yes")
    # Seconds: on two busy cores a command takes more than one to begin to watch.
    moved = threading.Timer(4.0, workers.settle)
    moved.start()

    watched = workers.run("rollout", "watch", "workers", "--timeout", "20")
    moved.join()

    assert watched.code == 0
    assert workers.run("rollout", "watch", "workers").code == 2, "there is none of this name"


def test_a_change_in_place_that_failed_is_resumed_as_it_is_said(
    plane: Commands, tmp_path: Path
) -> None:
    path = tmp_path / "in-place.yaml"
    in_place = TEXT.replace("maxSurge: 1 ", "type: InPlace ").replace("ble: 0", "ble: 1")
    path.write_text(in_place)
    assert plane.run("apply", "-f", str(path)).code == 0
    path.write_text(in_place.replace("1.34.2", "1.34.9"))
    plane.sleep()
    assert plane.run("apply", "-f", str(path), "--yes", "--no-wait").code == 0
    name = plane.app.call(lambda: fail_the_one_that_changes(plane.plane))
    explained = plane.run("explain", "workers").out
    assert f"waits for  {name} failed on the way: disk" in explained
    assert "way out    fairlead pool resume workers" in explained
    plane.sleep(is_asleep=False)

    plane.run("pool", "resume", "workers")

    assert name not in plane.machines()
    assert "settled: every machine" in plane.run("explain", "workers").out


def fail_the_one_that_changes(plane: StoredPlane) -> str:
    plane.one_pass()
    machines = plane.world.machines.list_machines("workers")
    (changing,) = [machine for machine in machines if machine.is_in_flight]
    failed = replace(changing, phase=Phase.FAILED, ready_at=None, problem="disk")
    plane.world.machines.write_machine(failed)
    return changing.name


def test_faults_are_put_on_a_machine_or_on_the_next_ones(workers: Commands) -> None:
    name = workers.machines()[0]

    assert workers.run("machine", "fault", name, "break").out == f"{name}: break\n"
    assert workers.json("machine", "show", name)["fault"] == "break"

    said = workers.run("machine", "fault", "--next", "workers", "fail-boot", "--count", "2")
    assert said.out == "the next 2 of workers: fail-boot\n"
    workers.run("pool", "scale", "workers", "5")
    faults = [machine["fault"] for machine in workers.json("machine", "list")["machines"]]
    assert sorted(faults) == ["break", "fail-boot", "fail-boot", "none", "none"]

    assert workers.run("machine", "fault", "break").code == 2
    assert workers.run("machine", "fault", name, "break", "--next", "workers").code == 2


def test_a_pool_tells_its_story(workers: Commands, other: str) -> None:
    workers.run("apply", "-f", other, "--yes")

    told = workers.run("timeline", "workers")

    kinds = [line.split()[1] for line in told.out.splitlines()[1:]]
    assert kinds[:2] == ["PoolDeclared", "PoolAdopted"]
    assert kinds[-1] == "RolloutCompleted"
    assert kinds.count("MachineLeaves") == kinds.count("MachineGone") == 3
    assert [event["kind"] for event in workers.json("timeline", "workers")["events"]] == kinds
    assert workers.run("timeline", "workers", "--svg", "x.svg").code == 2


def test_a_machine_draws_its_boot_from_the_report_that_it_sent(
    workers: Commands, tmp_path: Path
) -> None:
    name = workers.machines()[0]
    before = workers.run("timeline", name)
    report = encode_json(make_fields()).encode()
    workers.app.call(lambda: workers.plane.world.machines.write_report(name, report))
    after = workers.run("timeline", name, "--width", "100")
    drawn = workers.run("timeline", name, "--html", str(tmp_path / "boot.html"))

    assert before.out.startswith(f"{name} has sent no boot report\n\nAT ")
    lines = after.out.splitlines()
    assert lines[0].startswith(f"{name} of the pool workers, boot ")
    assert lines[2] == "provisioned 1.90 s after PID 1"
    assert lines[4].startswith("  whole boot ")
    assert "MachineCreated" in after.out
    assert drawn.code == 0
    page = (tmp_path / "boot.html").read_text()
    assert page.startswith("<!doctype html>")
    assert f"<p>{name} of the pool workers, boot " in page
    fields = workers.json("timeline", name)
    assert fields["machine"] == name
    assert fields["boot"]["verdict"] == "provisioned 1.90 s after PID 1"


def test_a_drawn_boot_tells_paths_as_the_machine_has_them(
    workers: Commands, tmp_path: Path
) -> None:
    name = workers.machines()[0]
    disk = workers.plane.directory.path / "machines" / name / "root"
    fields = make_fields()
    fields["stages"][0] = ["find-programs", 1, 1, "stopped", f"Is a directory: '{disk}/etc/x'"]
    report = encode_json(fields).encode()
    workers.app.call(lambda: workers.plane.world.machines.write_report(name, report))

    told = workers.run("timeline", name).out
    workers.run("timeline", name, "--html", str(tmp_path / "boot.html"))

    assert "agent/find-programs stopped: Is a directory: '/etc/x'" in told
    assert "Is a directory: '/etc/x'" in (tmp_path / "boot.html").read_text()
    assert str(disk) not in told + (tmp_path / "boot.html").read_text()


def test_a_pool_is_deleted_with_its_machines_and_only_with_yes(workers: Commands) -> None:
    names = workers.machines()

    tried = workers.run("pool", "delete", "workers", "--dry-run")
    refused = workers.run("pool", "delete", "workers")
    assert tried.out.startswith("workers would leave with 3 machines: ")
    assert refused.code == 2
    assert refused.err == (
        "fairlead: remove the pool workers and 3 machines? needs an answer, "
        "and there is no terminal (use --yes)\n"
    )
    assert workers.machines() == names

    assert workers.run("pool", "delete", "workers", "--yes").code == 0
    workers.settle()
    assert workers.json("pool", "list")["pools"] == []
    assert workers.machines() == []


def test_a_document_that_is_shown_can_be_applied_again(workers: Commands, tmp_path: Path) -> None:
    pool = workers.run("pool", "show", "workers", "--yaml").out
    platform = workers.run("platform", "show").out
    (tmp_path / "both.yaml").write_text(f"{pool}---\n{platform}")

    planned = workers.run("plan", "-f", str(tmp_path / "both.yaml"))

    assert planned.code == 0
    assert planned.out == "workers: nothing changes, no machine will be replaced\n"


def test_pool_apply_takes_pools_only(workers: Commands) -> None:
    assert workers.run("pool", "apply", "-f", POOL).code == 0

    refused = workers.run("pool", "apply", "-f", PLATFORM)
    assert refused.code == 2
    assert "expected pools (use fairlead apply)" in refused.err


@pytest.mark.parametrize("command", ["explain", "timeline"])
def test_a_name_that_nobody_has_gets_the_close_ones(workers: Commands, command: str) -> None:
    refused = workers.run(command, "wrokers")

    assert refused.code == 2
    assert refused.err.startswith("fairlead: wrokers: no pool and no machine has this name (there")
    assert "workers" in refused.err


def test_what_only_the_control_plane_knows_comes_back_with_line_and_column(
    workers: Commands, tmp_path: Path
) -> None:
    path = tmp_path / "in-place.yaml"
    path.write_text(
        "apiVersion: fairlead.dev/v1alpha1\n"
        "kind: NodePool\n"
        "metadata: {name: workers}\n"
        "spec:\n"
        "  release: {version: 1.34.2}\n"
        "  management:\n"
        "    type: InPlace\n"
    )

    refused = workers.run("plan", "-f", str(path))

    assert refused.code == 2
    assert refused.err.startswith(f"fairlead: {path}:7:11: spec.management.type: ")


def test_a_pool_on_delete_waits_for_its_owner(workers: Commands, tmp_path: Path) -> None:
    text = TEXT.replace("management:", "management:\n    strategy: OnDelete")
    path = tmp_path / "on-delete.yaml"
    path.write_text(text.replace("1.34.2", "1.35.0"))

    followed = workers.run("apply", "-f", str(path), "--yes", "--timeout", "10")

    assert followed.code == 4
    assert (
        "wait to be deleted by the pool's owner (fairlead machine delete workers-2)" in followed.err
    )


def test_a_process_without_a_stdin_is_asked_nothing(
    workers: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)

    refused = workers.run("pool", "scale", "workers", "1")

    assert refused.code == 2
    assert refused.err.endswith("there is no terminal (use --yes)\n")


def test_stdin_is_a_file_too(
    workers: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "in").write_text(TEXT.replace("replicas: 3", "replicas: many"))
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        refused = workers.run("plan", "-f", "-")

    assert refused.err == (
        "fairlead: stdin:12:13: spec.replicas: found the text 'many', "
        "expected a whole number from 0\n"
    )
