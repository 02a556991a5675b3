"""
A machine that fetches its node config from somebody who is not well, or not there.

All machines boot at once, in one cloud: most of the time they wait for their deadlines.
"""

import json
import re
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from boot.cloud import Cloud, make_cloud
from boot.control_plane import (
    CONTROL_PLANE_TOOLS,
    ENDPOINT,
    NAME,
    ControlPlane,
    make_control_plane,
)
from boot.faults import FAULT_TOOLS, End, Machine, a_machine, end_of
from boot.fleet import many_inotify_instances
from boot.node import missing_tools
from fairlead.userdata.delivery import Fetch
from fairlead.userdata.render import Target, render_user_data

pytestmark = [pytest.mark.root, pytest.mark.slow]

# In the cloud's network, and nobody has it.
NOWHERE = "169.254.77.77"
NOBODY = "02:00:00:00:00:77"

DEADLINE_S = 3
CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0"}'


@dataclass(frozen=True)
class FetchFault:
    """What is wrong, and what the machine must say: '' if it is provisioned all the same."""

    said: str = ""
    endpoint: str = ENDPOINT
    server: dict[str, object] | None = None
    name_server: str = ""


FAULTS = {
    "answers": FetchFault(),
    "fails-twice": FetchFault(server={"kind": "503", "times": 2}),
    "cuts-once": FetchFault(server={"kind": "cut", "times": 1}),
    "fails": FetchFault("status 503", server={"kind": "503"}),
    "cuts": FetchFault("EOF|ends after 24 of 49 bytes", server={"kind": "cut"}),
    "hangs": FetchFault("timed out", server={"kind": "silent"}),
    "trickles": FetchFault("time", server={"kind": "trickle"}),
    "refuses": FetchFault("Connection refused", ENDPOINT.replace("/v1", ":444/v1")),
    "black-hole": FetchFault("timed out", f"https://{NOWHERE}/v1/node-config"),
    "name-black-hole": FetchFault(
        "name resolution", f"https://{NAME}/v1/node-config", name_server=NOWHERE
    ),
}


def test_a_machine_that_cannot_fetch_its_config_says_why_and_one_that_can_is_provisioned(
    tmp_path: Path,
) -> None:
    missing = missing_tools(*FAULT_TOOLS, *CONTROL_PLANE_TOOLS)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    with ExitStack() as stack:
        stack.enter_context(many_inotify_instances(len(FAULTS)))
        cloud = stack.enter_context(make_cloud())
        plane = stack.enter_context(make_control_plane(cloud))
        machines = {
            name: make_machine(tmp_path / name, FAULTS[name], (cloud, plane), stack)
            for name in FAULTS
        }
        for machine in machines.values():
            machine.start()

        ends = {name: end_of(machine) for name, machine in machines.items()}

        wrong = {
            name: (end.verdict(), end.error)
            for name, end in ends.items()
            if not is_as_it_should(FAULTS[name], end)
        }
        assert wrong == {}


def make_machine(
    folder: Path, fault: FetchFault, around: tuple[Cloud, ControlPlane], stack: ExitStack
) -> Machine:
    """A machine in the cloud whose user data is a stub."""
    cloud, plane = around
    # The machine's name is what the control plane knows it by, and user data comes before it.
    token = plane.admit(folder.name, CONFIG)
    stub = plane.document(token, endpoint=fault.endpoint, deadline_s=DEADLINE_S)
    user_data = render_user_data(Fetch(stub), Target("boothook", layout="aks"))
    folder.mkdir()
    machine = stack.enter_context(a_machine(folder, user_data=user_data))
    name = machine.node.name
    if fault.server is not None:
        plane.break_for(name, fault.server)
    machine.network = cloud.attach(name)
    swallow(name)
    if fault.name_server:
        machine.write("/etc/resolv.conf", f"nameserver {fault.name_server}\n")
    return machine


def swallow(network: str) -> None:
    """Let packets to NOWHERE leave for a machine that is not there: no answer, not even a no."""
    shown = subprocess.run(
        ["ip", "-n", network, "-json", "link"], check=True, capture_output=True, text=True
    )
    (cable,) = [link["ifname"] for link in json.loads(shown.stdout) if link["ifname"] != "lo"]
    subprocess.run(
        ["ip", "-n", network, "neighbour", "add", NOWHERE, "lladdr", NOBODY, "dev", cable],
        check=True,
    )


def is_as_it_should(fault: FetchFault, end: End) -> bool:
    """Say whether the machine is provisioned, or says what is wrong; and its record can be read."""
    if not fault.said:
        return end.verdict() == (0, "0", [], 1) and [run.exit_code for run in end.records] == [0]
    failed = ["fairlead-node-check.service", "fairlead-node.service"]
    start = f"no node config from {fault.endpoint} in {DEADLINE_S} s (tries: "
    return (
        end.verdict() == (1, "240", failed, 0)
        and end.error.startswith(start)
        and re.search(fault.said, end.error) is not None
        and [run.stages[-1].name for run in end.records] == ["fetch-config"]
    )
