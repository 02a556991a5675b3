"""The harness keeps its promises: no way out of a node, and nothing left behind."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from boot.cloud import METADATA_ADDRESS, make_cloud
from boot.node import (
    CGROUPS,
    NAMESPACES,
    PREFIX,
    SCRATCH,
    NotIsolatedError,
    make_node,
    missing_tools,
    refuse_way_out,
    start_node,
    sweep_leftovers,
)
from boot.roots import base_root

pytestmark = [pytest.mark.root, pytest.mark.slow]

SUITE = "bookworm"

# Bit numbers in the kernel's capability sets.
CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYS_TIME = 16, 17, 22, 25


@pytest.fixture(autouse=True)
def _tools() -> None:
    missing = missing_tools()
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")


def traces_of(owner: int) -> list[str]:
    """What this process has on the machine under the harness's names."""
    places = [SCRATCH, CGROUPS, CGROUPS / "systemd", CGROUPS / "unified", NAMESPACES]
    found = [path for place in places for path in place.glob(f"{PREFIX}-{owner}-*")]
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    found_mounts = [line for line in mounts if f"{PREFIX}-{owner}-" in line]
    return [*map(str, found), *found_mounts]


@contextmanager
def process_in(namespace: str) -> Iterator[int]:
    """A process in a network namespace, doing nothing."""
    process = subprocess.Popen(["nsenter", f"--net=/run/netns/{namespace}", "sleep", "60"])
    try:
        while Path(f"/proc/{process.pid}/exe").readlink().name == "nsenter":
            time.sleep(0.01)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def test_a_process_in_this_machines_network_is_refused() -> None:
    with pytest.raises(NotIsolatedError, match="shares this machine's network"):
        refuse_way_out(os.getpid())


def test_a_namespace_with_a_way_out_is_refused() -> None:
    name = f"{PREFIX}-{os.getpid()}-harness"
    ip("netns", "add", name)
    try:
        with process_in(name) as process:
            refuse_way_out(process)
            ip("-n", name, "link", "add", "flbtest", "type", "bridge")
            ip("-n", name, "address", "add", "192.0.2.2/24", "dev", "flbtest")
            ip("-n", name, "link", "set", "flbtest", "up")
            refuse_way_out(process)

            ip("-n", name, "route", "add", "default", "via", "192.0.2.1")
            with pytest.raises(NotIsolatedError, match="default route"):
                refuse_way_out(process)

            ip("-n", name, "route", "delete", "default")
            ip("-n", name, "link", "add", "eth9", "type", "bridge")
            with pytest.raises(NotIsolatedError, match="not ours: eth9"):
                refuse_way_out(process)
    finally:
        ip("netns", "delete", name)


@pytest.mark.parametrize(
    "text", ["datasource_list: [Azure, NoCloud, None]\n", "datasource_list: [NoCloud, Ec2]\n"]
)
def test_a_cloud_init_that_would_look_elsewhere_is_refused(text: str) -> None:
    with make_node(base_root(SUITE)) as node:
        (node.root / "etc/cloud/cloud.cfg.d/99-zzz.cfg").write_text(text)

        with pytest.raises(NotIsolatedError, match="would look elsewhere"):
            start_node(node)

        assert node.process is None


def test_who_enters_a_node_cannot_set_this_machines_clock() -> None:
    with make_node(base_root(SUITE)) as node:
        start_node(node)

        told = node.enter("cat", "/proc/self/status").stdout

    # Only looked at, never tried.
    held = {
        name: int(value, 16)
        for name, _, value in (line.partition(":\t") for line in told.splitlines())
        if name in ("CapPrm", "CapEff", "CapBnd")
    }
    assert len(held) == 3
    for capability in (CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYS_TIME):
        assert not any(bits >> capability & 1 for bits in held.values())


def test_a_node_in_a_cloud_reaches_the_metadata_service_and_nobody_else() -> None:
    with make_cloud() as cloud, make_node(base_root(SUITE)) as node:
        cloud.tell(node.name, {"user-data": b"told"})
        start_node(node, network=cloud.attach(node.name))
        base = f"http://{METADATA_ADDRESS}"
        ask = ("curl", "--silent", "--max-time", "5")

        seed = node.enter(*ask, f"{base}/seed/{node.name}/user-data").stdout
        empty = node.enter(*ask, "--fail", f"{base}/seed/{node.name}/vendor-data")
        azure = f"{base}/metadata/instance/compute/userData?api-version=2021-01-01&format=text"
        coded = node.enter(*ask, "--header", "Metadata: true", azure).stdout
        refused = node.enter(*ask, "--output", "/dev/null", "--write-out", "%{http_code}", azure)
        node.enter(*ask, "--data", '{"stage": "done"}', f"{base}/callback")
        outside = node.enter(*ask, "http://192.0.2.1/")

        assert (seed, empty.returncode, empty.stdout) == ("told", 0, "")
        assert (coded, refused.stdout) == ("dG9sZA==", "400")
        last = cloud.requests()[-1]
        assert (last["node"], json.loads(last["body"])) == (node.name, {"stage": "done"})
        assert outside.returncode == 7, "there is no route to anywhere else"

        cloud.break_for(node.name, {"status": 503})
        broken = node.enter(*ask, "--fail", f"{base}/seed/{node.name}/user-data")
        assert broken.returncode == 22

    assert traces_of(os.getpid()) == []


def test_a_boot_leaves_nothing_behind_even_when_a_test_fails_in_the_middle() -> None:
    def fail_in_the_middle() -> None:
        with make_node(base_root(SUITE)) as node:
            start_node(node)
            raise KeyError("a test failed")

    with pytest.raises(KeyError):
        fail_in_the_middle()

    assert traces_of(os.getpid()) == []


def test_what_a_killed_test_run_left_is_swept() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    name = f"{PREFIX}-{gone.pid}-1"
    (SCRATCH / name).mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", SCRATCH / name], check=True)
    ip("netns", "add", name)
    mine = f"{PREFIX}-{os.getppid()}-1"
    (SCRATCH / mine).mkdir()
    try:
        swept = sweep_leftovers()

        assert name in swept
        assert traces_of(gone.pid) == []
        assert (SCRATCH / mine).exists(), "what a living run uses stays"
    finally:
        (SCRATCH / mine).rmdir()
