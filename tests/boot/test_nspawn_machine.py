"""Containers as machines: real systemd and cloud-init, in this computer's network, and no trace."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from boot.node import missing_tools
from boot.node_image import node_image
from builders import BUILT_IN_CONFIG
from conformance.machine_seeds import (
    CONFIG,
    RECORD,
    fetching_seed,
    is_running,
    make_seed,
    wait_for,
    wait_until,
)
from fairlead.agent.report.record import parse_record
from fairlead.answers.words import Fault
from fairlead.embedded.machines.control_group import groups_of
from fairlead.embedded.machines.image import unmount
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.machines.nspawn import NspawnMachines, container_name, stop
from fairlead.embedded.machines.process import children_of, find_process, list_processes
from process.tls_server import answer, make_pair, serving

pytestmark = [pytest.mark.root, pytest.mark.slow]

M = "workers-1"
TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="  # of a server that lives for one test

# Bits of a capability set: capability.h.
FORBIDDEN = {
    "CAP_NET_BIND_SERVICE": 10,
    "CAP_NET_BROADCAST": 11,
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_SYS_MODULE": 16,
    "CAP_SYS_RAWIO": 17,
    "CAP_SYS_TIME": 25,
    "CAP_MKNOD": 27,
}


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    """A directory whose name the kernel's mount options would take apart."""
    return tmp_path / "a, b: c$(d)" / "machines"


@pytest.fixture
def kind(machines: Path) -> Iterator[NspawnMachines]:
    if missing := missing_tools("mmdebstrap"):
        pytest.skip(f"NOT RUN: {', '.join(missing)} missing")
    made = NspawnMachines(machines, node_image("bookworm"))
    yield made
    for name in made.list_names():
        made.destroy(name)


@pytest.fixture
def place(machines: Path) -> Path:
    return machines / M


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    return directory


def leader_of(place: Path) -> int:
    return children_of(find_process(place) or 0)[0]


def test_a_machine_fetches_its_config_from_this_computers_loopback(
    kind: NspawnMachines, place: Path, certificates: Path
) -> None:
    config = json.dumps(BUILT_IN_CONFIG).encode()
    ca = (certificates / "good-ca.pem").read_text()

    with serving(certificates, answer(200, config)) as server:
        kind.power_on(M, fetching_seed(server.endpoint, ca, TOKEN), Fault.NONE)
        wait_for(kind, M, Life.UP)

    assert (place / "root" / CONFIG).read_bytes() == config
    assert f"Authorization: Bearer {TOKEN}\r\n".encode() in server.requests[0]
    wait_until(lambda: kind.last_words(M) == "provisioned", "the end of the record")

    # cloud-init took the same seed, and looked nowhere else.
    result = place / "root/var/lib/cloud/instances/one/datasource"
    wait_until(result.exists, "cloud-init's word about its data")
    assert "DataSourceNoCloud [seed=/var/lib/cloud/seed/nocloud]" in result.read_text()
    assert Path("/proc", str(leader_of(place)), "root", "etc/hostname").read_text() == "workers-1\n"


def test_a_machine_may_not_touch_the_network_or_the_clock(
    kind: NspawnMachines, place: Path
) -> None:
    kind.power_on(M, make_seed(), Fault.NONE)
    wait_for(kind, M, Life.UP)

    status = Path(f"/proc/{leader_of(place)}/status").read_text()
    bounding = int(next(line for line in status.splitlines() if "CapBnd" in line).split()[1], 16)
    assert {name for name, bit in FORBIDDEN.items() if bounding >> bit & 1} == set()


def test_a_machine_outlives_its_control_plane_and_leaves_nothing_when_destroyed(
    kind: NspawnMachines, machines: Path, place: Path
) -> None:
    layers = [str(layer) for layer in node_image("bookworm")]
    seed = make_seed()
    start = (
        "import os, signal, sys; from pathlib import Path\n"
        "from fairlead.embedded.machines.kind import Fault, Seed\n"
        "from fairlead.embedded.machines.nspawn import NspawnMachines\n"
        "kind = NspawnMachines(Path(sys.argv[1]), tuple(map(Path, sys.argv[2:])))\n"
        "data = sys.stdin.buffer.read()\n"
        f"seed = Seed(hostname={M!r}, instance='one', user_data=data)\n"
        f"kind.power_on({M!r}, seed, Fault.NONE)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", start, str(machines), *layers],
        input=seed.user_data,
        check=False,
        timeout=60,
    )
    assert ran.returncode == -signal.SIGKILL

    first = find_process(place)
    assert first is not None
    kind.power_on(M, seed, Fault.NONE)
    wait_for(kind, M, Life.UP)
    assert find_process(place) == first
    leader = leader_of(place)

    kind.destroy(M)

    assert not is_running(leader)
    assert list_processes(place) == []
    assert [group for group in groups_of(container_name(place)) if group.exists()] == []
    assert str(place) not in Path("/proc/self/mountinfo").read_text().replace("\\040", " ")
    assert list(machines.iterdir()) == []


def test_a_machine_that_ended_is_down_and_boots_again_from_its_disk(
    kind: NspawnMachines, place: Path
) -> None:
    kind.power_on(M, make_seed(), Fault.NONE)
    wait_for(kind, M, Life.UP)
    (place / "root/var/kept").write_text("by the machine")

    stop(place)
    assert kind.life_of(M) is Life.DOWN
    # As after a restart of this computer.
    unmount(place)
    assert kind.life_of(M) is Life.DOWN
    assert kind.last_words(M) != ""

    kind.power_on(M, make_seed(), Fault.NONE)
    wait_for(kind, M, Life.UP)
    assert (place / "root/var/kept").read_text() == "by the machine"
    assert len(parse_record((place / "root" / RECORD).read_bytes())) == 2


def test_a_verdict_that_a_reboot_would_forget_is_seen_too(kind: NspawnMachines) -> None:
    empty = Seed(hostname=M, instance="one", user_data=b"#cloud-config\n{}\n")

    kind.power_on(M, empty, Fault.NONE)
    wait_for(kind, M, Life.UP)

    assert kind.last_words(M) == (
        "stage conclude: no node config, NBC command or boot document came to this machine"
    )


def test_two_machines_boot_beside_each_other(kind: NspawnMachines, machines: Path) -> None:
    for name in ("workers-1", "workers-2"):
        kind.power_on(name, make_seed(), Fault.NONE)
    for name in ("workers-1", "workers-2"):
        wait_for(kind, name, Life.UP)

    assert kind.list_names() == ("workers-1", "workers-2")
    kind.destroy("workers-1")
    assert kind.life_of("workers-2") is Life.UP
    assert find_process(machines / "workers-2") is not None


def test_a_machine_whose_pid_1_dies_is_down_without_a_leftover(
    kind: NspawnMachines, place: Path
) -> None:
    kind.power_on(M, make_seed(), Fault.NONE)
    wait_for(kind, M, Life.UP)

    os.kill(leader_of(place), signal.SIGKILL)

    wait_for(kind, M, Life.DOWN)
    wait_until(lambda: list_processes(place) == [], "the end of systemd-nspawn")
