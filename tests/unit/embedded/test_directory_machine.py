"""Directories as machines: a real agent, a real seed, real TLS, and kills between any two steps."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.machine_seeds import (
    CONFIG,
    FEATURES,
    RECORD,
    fetching_seed,
    is_running,
    make_seed,
    wait_for,
    wait_until,
)
from fairlead.agent.report.record import parse_record
from fairlead.answers.words import Fault
from fairlead.embedded.machines.directory import DirectoryMachines, agent_command
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.machines.process import (
    LARGEST_ANSWER,
    LARGEST_CONSOLE,
    PID_FILE,
    find_process,
    list_processes,
    printed_by,
)
from fairlead.errors import InputError, UnavailableError
from process.tls_server import answer, make_pair, serving

TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="  # of a server that lives for one test
M = "workers-1"
ENDPOINT_OF_NOBODY = "https://127.0.0.1:1/v1/node-config"


@pytest.fixture
def kind(tmp_path: Path) -> Iterator[DirectoryMachines]:
    # Nothing of this name needs no quoting in a shell.
    made = DirectoryMachines(tmp_path / "it's a $(state) directory" / "machines")
    yield made
    for name in made.list_names():
        made.destroy(name)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "it's a $(state) directory" / "machines" / M


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    return directory


@pytest.fixture
def waiting(certificates: Path) -> Seed:
    """A seed whose boot waits a minute for a service that is not there."""
    ca = (certificates / "good-ca.pem").read_text()
    return fetching_seed(ENDPOINT_OF_NOBODY, ca, TOKEN)


def pids_of(place: Path) -> list[int]:
    return list_processes(place)


def test_a_machine_fetches_its_config_over_tls_with_its_token(
    kind: DirectoryMachines, place: Path, certificates: Path
) -> None:
    config = json.dumps({"version": "v1"}).encode()
    ca = (certificates / "good-ca.pem").read_text()

    with serving(certificates, answer(511), answer(200, config)) as server:
        kind.power_on(M, fetching_seed(server.endpoint, ca, TOKEN), Fault.NONE)
        wait_for(kind, M, Life.UP)

    assert (place / "root" / CONFIG).read_bytes() == config
    assert f"Authorization: Bearer {TOKEN}\r\n".encode() in server.requests[0]
    assert TOKEN not in (place / "console.log").read_text()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    user_data = place / "root/var/lib/cloud/seed/nocloud/user-data"
    assert stat.S_IMODE(user_data.stat().st_mode) == 0o600
    assert (place / "root/etc/hostname").read_text() == "workers-1\n"


def test_last_words_name_the_stage_the_address_and_the_cause(
    kind: DirectoryMachines, certificates: Path
) -> None:
    ca = (certificates / "good-ca.pem").read_text()

    with serving(certificates, answer(401)) as server:
        kind.power_on(M, fetching_seed(server.endpoint, ca, TOKEN), Fault.NONE)
        wait_for(kind, M, Life.UP)

    assert kind.last_words(M).startswith(
        f"stage fetch-config: no node config from {server.endpoint}: status 401"
    )


def test_last_words_of_a_boot_under_way_say_what_it_waits_for(
    kind: DirectoryMachines, waiting: Seed
) -> None:
    kind.power_on(M, waiting, Fault.NONE)

    wait_until(lambda: "trying again" in kind.last_words(M), "a first failed try")
    assert kind.life_of(M) is Life.BOOTING
    assert kind.last_words(M) == (
        "stage fetch-config: node config not fetched, trying again: Connection refused"
    )


def test_last_words_of_an_agent_that_was_killed_say_where(
    kind: DirectoryMachines, place: Path, waiting: Seed
) -> None:
    kind.power_on(M, waiting, Fault.NONE)
    wait_until(lambda: "trying again" in kind.last_words(M), "a first failed try")

    os.kill(find_process(place) or 0, signal.SIGKILL)
    wait_for(kind, M, Life.OFF)

    assert kind.last_words(M).startswith("stage fetch-config: the agent died; node config")


def test_what_an_earlier_boot_said_is_not_the_last_word_of_this_one(
    kind: DirectoryMachines, place: Path, waiting: Seed
) -> None:
    kind.power_on(M, make_seed(), Fault.FAIL_BOOT)
    wait_for(kind, M, Life.UP)
    assert "provision/containerd-config" in kind.last_words(M)

    # An agent that is stopped before its first line.
    mute = DirectoryMachines(place.parent, ["/bin/sh", "-c", "exec sleep 60"])
    mute.power_on(M, waiting, Fault.NONE)

    assert mute.last_words(M) == ""


def test_an_earlier_verdict_is_not_the_word_about_a_boot_under_way(
    kind: DirectoryMachines, place: Path
) -> None:
    kind.power_on(M, make_seed(), Fault.NONE)
    wait_for(kind, M, Life.UP)

    mute = DirectoryMachines(place.parent, ["/bin/sh", "-c", "exec sleep 60"])
    mute.power_on(M, make_seed(), Fault.NONE)

    assert mute.life_of(M) is Life.BOOTING


def test_user_data_without_a_document_is_told_from_the_console(kind: DirectoryMachines) -> None:
    empty = Seed(hostname=M, instance="one", user_data=b"#cloud-config\n{}\n")

    kind.power_on(M, empty, Fault.NONE)
    wait_until(lambda: "nothing to do" in kind.last_words(M), "the agent's last line")

    wait_for(kind, M, Life.OFF)
    assert kind.last_words(M) == "no node config, NBC command or boot document: nothing to do"


def test_a_defective_image_fails_with_exit_code_241_and_a_sound_one_boots_after_it(
    kind: DirectoryMachines, place: Path
) -> None:
    kind.power_on(M, make_seed(), Fault.FAIL_BOOT)
    wait_for(kind, M, Life.UP)
    status = json.loads((place / "root/var/log/fairlead/provision.json").read_text())
    assert status["ExitCode"] == "241"
    assert kind.last_words(M).startswith("stage provision/containerd-config: Is a directory: ")

    kind.power_on(M, make_seed(), Fault.NONE)
    wait_until(lambda: kind.last_words(M) == "provisioned", "a sound boot")


@pytest.fixture
def stranger() -> Iterator[int]:
    """The pid of a process that is no machine."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def test_a_pid_that_was_given_out_again_is_not_the_machine(
    kind: DirectoryMachines, place: Path, waiting: Seed, stranger: int
) -> None:
    kind.power_on(M, waiting, Fault.NONE)
    process, started, boot = (place / PID_FILE).read_text().split()
    assert kind.life_of(M) is Life.BOOTING

    # A stranger that was given the pid; another start; another boot of this computer.
    for words in (
        f"{stranger} 1 {boot}",
        f"{process} {int(started) + 1} {boot}",
        f"{process} {started} 00000000-0000-0000-0000-000000000000",
        "torn",
    ):
        (place / PID_FILE).write_text(words + "\n")
        assert kind.life_of(M) is Life.OFF
        assert find_process(place) is None

    # What the pid file no longer names is found by its mark.
    kind.destroy(M)
    assert not Path(f"/proc/{process}").exists()
    assert is_running(stranger)


def test_an_agent_that_ended_is_no_zombie(kind: DirectoryMachines, place: Path) -> None:
    kind.power_on(M, make_seed(), Fault.NONE)
    process = (place / PID_FILE).read_text().split()[0]
    wait_for(kind, M, Life.UP)

    def is_gone() -> bool:
        kind.life_of(M)
        return not Path(f"/proc/{process}").exists()

    wait_until(is_gone, "the agent reaped by a look at the machine")


def test_what_a_machine_started_in_a_session_of_its_own_ends_with_it(
    kind: DirectoryMachines, place: Path
) -> None:
    # As an agent whose script leaves a daemon behind, and which then dies.
    start = "setsid sleep 600 & setsid sleep 601 & exit 0"
    leaving = DirectoryMachines(place.parent, ["/bin/sh", "-c", start])
    leaving.power_on(M, make_seed(), Fault.NONE)
    wait_until(lambda: find_process(place) is None and len(pids_of(place)) == 2, "two daemons")
    left = pids_of(place)

    leaving.destroy(M)

    assert [pid for pid in left if is_running(pid)] == []
    assert not place.exists()


def test_a_tree_with_directories_that_nobody_may_write_to_is_removed(
    kind: DirectoryMachines, place: Path
) -> None:
    kind.power_on(M, make_seed(), Fault.NEVER_JOIN)
    deep = place / "root/a/b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    outside = place.parent.parent / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (deep / "link").symlink_to(outside)
    deep.chmod(0o000)
    deep.parent.chmod(0o500)

    kind.destroy(M)

    assert not place.exists()
    assert (outside / "kept").exists()


def test_links_that_a_machine_puts_on_its_disk_lead_nowhere(
    kind: DirectoryMachines, place: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "hostname").write_text("of this computer\n")
    kind.power_on(M, make_seed(), Fault.NEVER_JOIN)
    (place / "root/var/lib/cloud").mkdir(parents=True)
    (place / "root/var/lib/cloud/seed").symlink_to(outside)
    (place / "root/etc").mkdir()
    (place / "root/etc/hostname").symlink_to(outside / "hostname")

    with pytest.raises(UnavailableError, match="expected a directory"):
        kind.power_on(M, make_seed(), Fault.NONE)
    assert list(outside.iterdir()) == [outside / "hostname"]

    # A link in the last part of a path is replaced, not written through.
    (place / "root/var/lib/cloud/seed").unlink()
    kind.power_on(M, make_seed(), Fault.NONE)
    assert (outside / "hostname").read_text() == "of this computer\n"
    assert (place / "root/etc/hostname").read_text() == "workers-1\n"


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "a/b", "-a", "a b", "a" * 300])
def test_a_name_that_is_no_machine_is_refused(kind: DirectoryMachines, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a machine"):
        kind.destroy(name)


def test_a_disk_that_refuses_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "machines").write_text("not a directory")

    with pytest.raises(UnavailableError, match="cannot be given power"):
        DirectoryMachines(tmp_path / "machines").power_on(M, make_seed(), Fault.NONE)


def test_a_machine_that_prints_without_end_fills_no_disk(
    kind: DirectoryMachines, place: Path
) -> None:
    loud = DirectoryMachines(place.parent, ["/bin/sh", "-c", "exec yes"])
    loud.power_on(M, make_seed(), Fault.NONE)
    console = place / "console.log"
    wait_until(lambda: console.stat().st_size > LARGEST_CONSOLE, "more than it may take")

    os.kill(find_process(place) or 0, signal.SIGSTOP)
    loud.life_of(M)

    assert console.stat().st_size < LARGEST_CONSOLE


def test_the_console_holds_the_last_boot_only(kind: DirectoryMachines, place: Path) -> None:
    for _ in range(3):
        kind.power_on(M, make_seed(), Fault.NONE)
        wait_until(lambda: pids_of(place) == [], "the end of the agent")

    assert (place / "console.log").read_text().count('"msg":"provisioned"') == 1
    assert len(parse_record((place / "root" / RECORD).read_bytes())) == 3


def test_what_a_machine_printed_is_told_with_where_it_is_in_all_of_it(
    kind: DirectoryMachines, place: Path
) -> None:
    kind.power_on(M, make_seed(), Fault.NONE)
    wait_until(lambda: pids_of(place) == [], "the end of the agent")

    printed = printed_by(place, kind.last_words(M))
    with (place / "console.log").open("ab") as console:
        console.write(b"x" * LARGEST_ANSWER)
    later = printed_by(place, kind.last_words(M))
    kind.power_on(M, make_seed(), Fault.NONE)

    assert (printed.begin, printed.last_words) == (0, "provisioned")
    assert b'"msg":"provisioned"' in printed.data
    assert (later.begin, later.data) == (len(printed.data), b"x" * LARGEST_ANSWER)
    assert printed_by(place, kind.last_words(M)).power not in ("", printed.power)
    assert printed_by(place.parent / "never-made", "").data == b""


CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.posix_spawn")


def run_killed_edge(kind: DirectoryMachines, seed: Seed, end: int) -> bool:
    """
    Give power in a process that is killed before its n-th change to the system, or at its end.

    Return whether it came to its end.
    """
    reading, writing = os.pipe()
    edge = os.fork()
    if edge == 0:
        left = end

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            is_write = event == "open" and isinstance(flags := arguments[2], int) and flags & 3
            if event in CHANGES or is_write:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(count)
            kind.power_on(M, seed, Fault.NONE)
            os.write(writing, b"whole")
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(writing)
    os.waitpid(edge, 0)
    with os.fdopen(reading, "rb") as said:
        return said.read() == b"whole"


def test_a_control_plane_that_was_killed_finds_its_machine_again(
    kind: DirectoryMachines, place: Path, waiting: Seed
) -> None:
    assert run_killed_edge(kind, waiting, 0)

    assert kind.life_of(M) is Life.BOOTING
    first = find_process(place)
    kind.power_on(M, waiting, Fault.NONE)
    assert find_process(place) == first

    kind.destroy(M)
    assert kind.list_names() == ()


def test_killed_before_any_operation_the_next_power_on_repairs(
    kind: DirectoryMachines, place: Path
) -> None:
    before = make_seed("one", features={"OLD": "true"})
    after = make_seed("two", label="green")
    kind.power_on(M, before, Fault.NONE)
    wait_for(kind, M, Life.UP)
    wait_until(lambda: pids_of(place) == [], "the end of the agent")
    keep = place.with_name("keep")
    subprocess.run(["cp", "--archive", place, keep], check=True)

    is_whole, operations = False, 0
    while not is_whole:
        operations += 1
        subprocess.run(["rm", "--recursive", "--force", place], check=True)
        subprocess.run(["cp", "--archive", keep, place], check=True)
        is_whole = run_killed_edge(kind, after, operations)
        wait_until(lambda: pids_of(place) == [], "the end of whatever was begun")

        # An agent ran only if its pid was on the disk before.
        has_pid = (place / PID_FILE).read_text() != (keep / PID_FILE).read_text()
        assert len(parse_record((place / "root" / RECORD).read_bytes())) <= 1 + has_pid, operations

        kind.power_on(M, after, Fault.NONE)
        wait_for(kind, M, Life.UP)
        wait_until(lambda: pids_of(place) == [], "the end of the agent")

        config = json.loads((place / "root" / CONFIG).read_bytes())
        assert config["kubelet_config"]["kubelet_node_labels"] == {"colour": "green"}, operations
        assert not (place / "root" / FEATURES).exists(), operations
        assert list((place / "root").rglob("*.fairlead-half")) == [], operations

    kind.destroy("keep")
    assert operations > 20


def test_the_agent_of_this_installation_starts_without_site_packages() -> None:
    began = time.monotonic()
    ran = subprocess.run(
        [*agent_command(), "version"], capture_output=True, text=True, check=True, env={}
    )

    assert ran.stdout.strip().count(".") == 2
    assert time.monotonic() - began < 10
