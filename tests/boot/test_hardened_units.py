"""What reads the documents of strangers can do nothing else, on a machine that really boots."""

import json
from contextlib import ExitStack

import pytest

from boot.boot_case import CASES, COLLECTED, load_case, prepare, read_result
from boot.node import make_node, missing_tools, start_node
from boot.roots import SUITES, agent_layer, base_root

pytestmark = [pytest.mark.root, pytest.mark.slow]

# The second reports a boot that had no verdict.
UNITS = {"fairlead-node-seed.service": [], "fairlead-node-check.service": ["speaks"]}

# Runs in the unit before its own program, with the unit's rights; what it could do is listed.
PROBE = """\
try() {
    name=$1
    shift
    "$@" >/dev/null 2>&1 && echo "$name" >>/run/fairlead/probed
}
: >/run/fairlead/probed
try may-write-its-own-state true
for place in /etc /usr /boot /var/lib /var/lib/cloud /root /tmp /run /run/systemd/system /dev/shm
do
    try "writes $place" touch "$place/probed"
done
try mounts mount -t tmpfs tmpfs /run/fairlead
try makes-devices mknod /run/fairlead/device b 7 0
try makes-namespaces unshare --mount true
try gives-away chown 1 /run/fairlead/probed
try sets-suid sh -c 'cp /bin/true /run/fairlead/true && chmod u+s /run/fairlead/true'
try sets-the-kernel sh -c 'echo 60 >/proc/sys/vm/swappiness'
try sets-its-name hostname probed
try moves-itself sh -c 'echo $$ >/sys/fs/cgroup/cgroup.procs'
try reads-the-kernels-log dmesg
try loads-modules modprobe loop
try speaks python3 -c 'import socket; socket.socket(socket.AF_INET)'
cp /run/fairlead/probed /var/log/probed-$1
"""
PROGRAM = "usr/lib/boot-test/probe.sh"


@pytest.mark.parametrize("suite", SUITES)
def test_the_readers_of_documents_can_write_their_four_places_only(suite: str) -> None:
    missing = missing_tools()
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    case = load_case(CASES / "floor-built-in-steps")
    with ExitStack() as stack:
        node = stack.enter_context(make_node(agent_layer(suite), base_root(suite)))
        options = prepare(case, node, stack)
        (node.root / PROGRAM).write_text(PROBE)
        for unit in UNITS:
            drop_in = node.root / f"etc/systemd/system/{unit}.d/probe.conf"
            drop_in.parent.mkdir()
            drop_in.write_text(f"[Service]\nExecStartPre=-/bin/sh /{PROGRAM} {unit}\n")
        start_node(node, options=tuple(options))
        node.wait_for(COLLECTED)
        result = read_result(case, node)

        told = result.journal[-4000:]
        for unit, does in UNITS.items():
            found = node.read(f"/var/log/probed-{unit}").splitlines()
            assert found == ["may-write-its-own-state", *does], told
        assert (result.state, result.place(), result.line()) == ("running", "NoCloud seed", "floor")
        status = json.loads(node.read("/var/log/fairlead/provision.json"))
        assert status["ExitCode"] == "0", told
