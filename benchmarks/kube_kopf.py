"""
The baseline: an operator made with kopf, which looks at as many objects and writes their status.

It renders nothing, makes no Secrets and no machines. kopf is installed into an environment that is
thrown away afterwards; without a package index the rows say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kube_processes import MeasuredProcess, Row, writes_of

from fairlead.errors import FairleadError, UnavailableError
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.resource import Resource
from kube.cluster import TestCluster
from kube.cluster_api import CRDS, open_definition

COPIES = Resource("bench.fairlead.dev", "v1", "poolcopies", "PoolCopy")
INSTALL_S = 300
DEADLINE_S = 1800.0
WRITERS = 6

# Looks at the CPU time of a process that starts, and seconds between two that are next to none.
FEWEST_LOOKS, AT_REST_S = 4, 0.1

PROGRAM = """
import logging, os
import kopf

@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False
    settings.peering.standalone = True

@kopf.on.login()
def login(**_):
    return kopf.ConnectionInfo(
        server=os.environ["BENCH_SERVER"], ca_path=os.environ["BENCH_CA"],
        certificate_path=os.environ["BENCH_CERTIFICATE"], private_key_path=os.environ["BENCH_KEY"])

@kopf.on.create("bench.fairlead.dev", "v1", "poolcopies")
@kopf.on.update("bench.fairlead.dev", "v1", "poolcopies", field="spec")
def follow(spec, meta, patch, **_):
    patch.status["observedGeneration"] = meta["generation"]
    patch.status["replicas"] = spec["replicas"]
"""


def kopf_rows(cluster: TestCluster, scratch: Path, count: int) -> Iterator[Row]:
    """The same trial: declare, start again, change every one."""
    python = installed(scratch)
    if python is None:
        yield "kopf could not be installed from a package index", "", "", True
        return
    admin = connect(cluster.admin)
    admin.apply(CRDS, open_definition(COPIES))
    wait_until(lambda: is_served(admin), "the baseline's definition is served")
    each(count, lambda number: admin.create(COPIES, copy(number, 1)))
    program = scratch / "follow.py"
    program.write_text(PROGRAM)
    first = started(cluster, python, program, "kopf")
    wait_until(lambda: count_told(admin) == count, "kopf told of all objects", first)
    first.end()
    total = sum(writes_of(cluster, "kopf").values())
    yield f"kopf, {count:,} objects declared: writes of each", f"{total / count:.2f}", "", True
    yield "  most memory", f"{first.peak_mib:.0f} MiB", "", True
    again = started(cluster, python, program, "kopf-again")
    rest(again)
    begun = again.cpu_s()
    each(count, lambda number: admin.apply(COPIES, copy(number, 2), manager="somebody"))
    wait_until(lambda: count_told(admin, 2) == count, "kopf told of all changes", again)
    took = again.cpu_s() - begun
    again.end()
    total = sum(writes_of(cluster, "kopf-again").values())
    yield "  a status that changes: writes of each", f"{total / count:.2f}", "", True
    yield "  CPU per event", f"{took / count * 1000:.2f} ms", "", True
    yield "  most memory, with every object changed", f"{again.peak_mib:.0f} MiB", "", True
    admin.close()


def installed(scratch: Path) -> str | None:
    """Return the interpreter of an environment with kopf, or None."""
    where = scratch / "kopf"
    subprocess.run([sys.executable, "-m", "venv", str(where)], check=True)
    command = [str(where / "bin" / "pip"), "install", "--quiet", "kopf"]
    try:
        ran = subprocess.run(command, timeout=INSTALL_S, check=False, capture_output=True)
    except subprocess.TimeoutExpired:
        return None
    return str(where / "bin" / "python") if ran.returncode == 0 else None


def started(cluster: TestCluster, python: str, program: Path, user: str) -> MeasuredProcess:
    """Start the baseline as this user."""
    pair = cluster.authority.client(user, user, "system:masters")
    where = {
        "BENCH_SERVER": cluster.url,
        "BENCH_CA": str(cluster.authority.pair.certificate),
        "BENCH_CERTIFICATE": str(pair.certificate),
        "BENCH_KEY": str(pair.key),
    }
    words = [python, "-m", "kopf", "run", "--all-namespaces", "--quiet", str(program)]
    log = cluster.directory / f"{user}.log"
    return MeasuredProcess(words, log, {**os.environ, **where})


def rest(process: MeasuredProcess) -> None:
    """Wait until it has listed everything and its CPU time stands still."""
    used = [process.cpu_s()]
    while len(used) < FEWEST_LOOKS or used[-1] - used[-2] > AT_REST_S:
        time.sleep(5)
        process.refuse_dead()
        used.append(process.cpu_s())


def copy(number: int, replicas: int) -> dict[str, object]:
    """Return one object, about as large as a pool."""
    metadata = {"name": f"copy-{number:05}", "namespace": "default"}
    files = [{"path": f"/etc/file-{at}", "content": f"line {number} {at}\n" * 8} for at in range(4)]
    spec = {"replicas": replicas, "files": files}
    return {
        "apiVersion": COPIES.api_version,
        "kind": COPIES.kind,
        "metadata": metadata,
        "spec": spec,
    }


def count_told(admin: KubeClient, replicas: int = 1) -> int:
    """How many objects have a status with this number; -1 while the server is too busy to say."""
    try:
        found, _ = admin.list_all(COPIES)
    except UnavailableError:
        return -1
    return sum((one.get("status") or {}).get("replicas") == replicas for one in found)


def is_served(admin: KubeClient) -> bool:
    """Say whether the definition is in force."""
    try:
        admin.list_all(COPIES)
    except FairleadError:
        return False
    return True


def each(count: int, act: Callable[[int], object]) -> None:
    """Act for all objects, several at a time. What one raises, this raises."""
    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(act, range(count)))


def wait_until(
    holds: Callable[[], bool], what: str, process: MeasuredProcess | None = None
) -> None:
    """Wait until something holds, looking once in a while."""
    end = time.monotonic() + DEADLINE_S
    while not holds():
        if process is not None:
            process.refuse_dead()
        if time.monotonic() > end:
            raise SystemExit(f"it did not come true that {what}")
        time.sleep(2)
