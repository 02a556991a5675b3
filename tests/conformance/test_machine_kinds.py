"""One suite for every kind of machine: what the driver relies on holds for each of them."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from boot.node import missing_tools
from boot.node_image import node_image
from conformance.machine_seeds import (
    CONFIG,
    FEATURES,
    RECORD,
    fetching_seed,
    make_seed,
    wait_for,
    wait_until,
)
from fairlead.agent.report.record import parse_record
from fairlead.answers.words import Fault
from fairlead.embedded.machines.directory import DirectoryMachines
from fairlead.embedded.machines.kind import Life, MachineKind, Seed
from fairlead.embedded.machines.nspawn import NspawnMachines
from fairlead.embedded.machines.process import find_process, list_processes
from process.tls_server import make_pair

M = "workers-1"
NSPAWN = pytest.param("nspawn", marks=[pytest.mark.root, pytest.mark.slow])


class Bench:
    """A kind under test, and what a test may see and break behind its back."""

    def __init__(self, name: str, directory: Path) -> None:
        self.directory = directory
        self.place = directory / M
        self._name = name
        self.kind = self.restarted()

    def restarted(self) -> MachineKind:
        """The kind as a control plane that was just started has it."""
        if self._name == "directory":
            return DirectoryMachines(self.directory)
        return NspawnMachines(self.directory, node_image("bookworm"))

    def file(self, path: str) -> Path:
        return self.place / "root" / path

    def runs(self) -> int:
        record = self.file(RECORD)
        return len(parse_record(record.read_bytes())) if record.exists() else 0

    def boot(self, seed: Seed | None, fault: Fault = Fault.NONE) -> None:
        """Give power, and wait until that boot left its verdict."""
        self.kind.power_on(M, seed, fault)
        wait_for(self.kind, M, Life.UP)

    def cut_power(self) -> None:
        os.kill(find_process(self.place) or 0, signal.SIGKILL)
        wait_until(lambda: find_process(self.place) is None, "the end of the machine")


@pytest.fixture(params=["directory", NSPAWN])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "nspawn" and (missing := missing_tools("mmdebstrap")):
        pytest.skip(f"NOT RUN: {', '.join(missing)} missing")
    made = Bench(request.param, tmp_path / "machines")
    yield made
    for name in made.kind.list_names():
        made.kind.destroy(name)
    assert not list((tmp_path / "machines").glob("*"))


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    return (directory / "good-ca.pem").read_text()


@pytest.fixture
def waiting(ca: str) -> Seed:
    """A seed whose boot waits for a service that is not there."""
    return fetching_seed("https://127.0.0.1:1/v1/node-config", ca, "token")


def test_what_was_never_given_power_is_absent_and_silent(bench: Bench) -> None:
    assert bench.kind.life_of(M) is Life.ABSENT
    assert bench.kind.last_words(M) == ""
    assert bench.kind.list_names() == ()
    bench.kind.destroy(M)


def test_a_machine_boots_from_its_seed_and_is_provisioned(bench: Bench) -> None:
    bench.boot(make_seed())

    config = json.loads(bench.file(CONFIG).read_bytes())
    assert config["kubelet_config"]["kubelet_node_labels"] == {"colour": "blue"}
    wait_until(lambda: bench.kind.last_words(M) == "provisioned", "the end of the record")
    assert bench.kind.list_names() == (M,)


def test_power_for_a_boot_under_way_changes_nothing(bench: Bench, waiting: Seed) -> None:
    bench.kind.power_on(M, waiting, Fault.NONE)
    first = find_process(bench.place)
    assert bench.kind.life_of(M) is Life.BOOTING

    bench.kind.power_on(M, waiting, Fault.NONE)

    assert find_process(bench.place) == first
    wait_until(lambda: "trying again" in bench.kind.last_words(M), "a first failed try")
    assert bench.kind.life_of(M) is Life.BOOTING
    assert bench.runs() == 1


def test_a_machine_that_is_up_boots_again_and_keeps_its_disk(bench: Bench) -> None:
    bench.boot(make_seed())
    bench.file("var/kept").write_text("by the machine")

    bench.boot(make_seed())

    wait_until(lambda: bench.runs() == 2, "a second run")
    assert bench.file("var/kept").read_text() == "by the machine"


def test_a_machine_that_is_rebooted_has_what_it_boots_from(bench: Bench) -> None:
    bench.boot(make_seed())
    bench.file("var/kept").write_text("by the machine")
    bench.file("var/lib/cloud/seed/nocloud/user-data").write_text("no longer read")

    bench.boot(None)

    wait_until(lambda: bench.runs() == 2, "a second run")
    wait_until(lambda: bench.kind.last_words(M) == "provisioned", "the end of the record")
    config = json.loads(bench.file(CONFIG).read_bytes())
    assert config["kubelet_config"]["kubelet_node_labels"] == {"colour": "blue"}
    assert bench.file("var/kept").read_text() == "by the machine"


def test_a_reboot_of_a_boot_under_way_changes_nothing(bench: Bench, waiting: Seed) -> None:
    bench.kind.power_on(M, waiting, Fault.NONE)
    first = find_process(bench.place)

    bench.kind.power_on(M, None, Fault.NONE)

    assert find_process(bench.place) == first


def test_another_seed_forgets_the_earlier_one_and_keeps_the_rest(bench: Bench) -> None:
    bench.boot(make_seed("one", features={"EARLIER": "true"}))
    assert bench.file(FEATURES).read_text() == "EARLIER=true\n"
    bench.file("var/kept").write_text("by the machine")

    bench.boot(make_seed("two", label="green"))

    config = json.loads(bench.file(CONFIG).read_bytes())
    assert config["kubelet_config"]["kubelet_node_labels"] == {"colour": "green"}
    assert not bench.file(FEATURES).exists()
    assert bench.file("var/kept").read_text() == "by the machine"


def test_other_user_data_for_the_same_instance_is_another_seed(bench: Bench) -> None:
    bench.boot(make_seed("one"))

    bench.boot(make_seed("one", label="green"))

    wait_until(lambda: bench.kind.last_words(M) == "provisioned", "the end of the record")
    config = json.loads(bench.file(CONFIG).read_bytes())
    assert config["kubelet_config"]["kubelet_node_labels"] == {"colour": "green"}


def test_another_seed_ends_a_boot_under_way(bench: Bench, waiting: Seed) -> None:
    bench.kind.power_on(M, waiting, Fault.NONE)
    wait_until(lambda: "trying again" in bench.kind.last_words(M), "a first failed try")
    first = find_process(bench.place)

    bench.boot(make_seed("two"))

    assert first not in list_processes(bench.place)
    assert bench.file(CONFIG).is_file()
    assert not bench.file("etc/fairlead/boot-document.json").exists()


def test_a_machine_whose_power_was_cut_is_off_and_boots_again(bench: Bench, waiting: Seed) -> None:
    bench.kind.power_on(M, waiting, Fault.NONE)
    wait_until(lambda: "trying again" in bench.kind.last_words(M), "a first failed try")

    bench.cut_power()
    assert bench.kind.life_of(M) is Life.OFF
    assert bench.kind.last_words(M).startswith("stage fetch-config: the agent died")

    bench.kind.power_on(M, waiting, Fault.NONE)
    assert bench.kind.life_of(M) is Life.BOOTING


def test_a_restarted_control_plane_finds_its_machines_and_ends_them(
    bench: Bench, waiting: Seed
) -> None:
    bench.kind.power_on(M, waiting, Fault.NONE)
    first = find_process(bench.place)

    again = bench.restarted()
    again.power_on(M, waiting, Fault.NONE)

    assert again.life_of(M) is Life.BOOTING
    assert find_process(bench.place) == first
    again.destroy(M)
    assert again.life_of(M) is Life.ABSENT
    assert list_processes(bench.place) == []
    assert not bench.place.exists()


def test_destroying_twice_is_destroying_once(bench: Bench) -> None:
    bench.boot(make_seed())

    bench.kind.destroy(M)
    bench.kind.destroy(M)

    assert bench.kind.life_of(M) is Life.ABSENT
    assert bench.kind.list_names() == ()


def test_a_defective_image_fails_and_says_where(bench: Bench) -> None:
    bench.boot(make_seed(), Fault.FAIL_BOOT)

    wait_until(lambda: bench.kind.last_words(M) != "", "the record")
    assert bench.kind.last_words(M).startswith(
        "stage provision/containerd-config: Is a directory: "
    )
    status = json.loads(bench.file("var/log/fairlead/provision.json").read_text())
    assert status["ExitCode"] == "241"


def test_a_machine_that_power_never_reaches_is_off(bench: Bench) -> None:
    bench.kind.power_on(M, make_seed(), Fault.NEVER_JOIN)

    assert bench.kind.life_of(M) is Life.OFF
    assert bench.kind.last_words(M) == ""
    assert bench.kind.list_names() == (M,)
    assert list_processes(bench.place) == []


def test_a_machine_of_which_the_disk_vanished_is_absent_and_can_be_destroyed(bench: Bench) -> None:
    bench.kind.power_on(M, make_seed(), Fault.NEVER_JOIN)
    for name in ("root", "upper"):
        shutil.rmtree(bench.place / name, ignore_errors=True)

    assert bench.kind.life_of(M) is Life.ABSENT
    assert bench.kind.list_names() == (M,)
    bench.kind.destroy(M)
    assert bench.kind.list_names() == ()
