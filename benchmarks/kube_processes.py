"""Operators as processes that are measured, and what the server says they wrote."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from fairlead.kube.informer import Informer
from fairlead.kube.resource import NODE_POOLS
from kube.cluster import LOOPBACK, TestCluster, free_port

if TYPE_CHECKING:
    from pathlib import Path

    from fairlead.kube.answer import Object
    from fairlead.kube.client import KubeClient

# What was measured, in words; the number; the bar, if there is one; whether it is met.
Row = tuple[str, str, str, bool]

WRITES = ("create", "update", "patch", "delete")
TICKS = os.sysconf("SC_CLK_TCK")

# A pass waits for the server most of the time, here more than elsewhere: both share two cores.
WORKERS = 6

# Seconds without a pass after which nothing is on its way any more.
QUIET_S = 6.0
LOOK_S = 2.0
SYNC_S = 120.0


def printed(rows: Iterable[Row]) -> int:
    """Print what is measured, as it is; return 1 if a bar is missed, else 0."""
    print(f"{'what':52} {'found':>14} {'bar':>12}")
    are_met = []
    for name, found, bar, is_met in rows:
        print(f"{name:52} {found:>14} {bar:>12}{'' if is_met else '  MISSED'}", flush=True)
        are_met.append(is_met)
    print("bars met" if all(are_met) else "MISSED")
    return 0 if all(are_met) else 1


@dataclass(frozen=True, slots=True)
class Measured:
    """What a process had used at one moment, or between two."""

    cpu_s: float
    passes: int
    depth: int = 0
    is_leader: bool = False

    @property
    def ms_per_pass(self) -> float:
        """CPU milliseconds for each pass."""
        return self.cpu_s / max(1, self.passes) * 1000

    def since(self, before: Measured) -> Measured:
        """What was used after that."""
        return Measured(self.cpu_s - before.cpu_s, self.passes - before.passes)


class MeasuredProcess:
    """A process, its memory and its CPU time. Its standard error is kept beside the cluster."""

    def __init__(
        self, words: list[str], log: Path, environment: dict[str, str] | None = None
    ) -> None:
        self._log = log
        with log.open("ab") as said:
            self._process = subprocess.Popen(words, stdout=said, stderr=said, env=environment)
        atexit.register(self._process.kill)  # nothing outlives an interrupted run
        self.peak_mib = 0.0

    def cpu_s(self) -> float:
        """CPU seconds until now."""
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as stat:  # noqa: PTH123
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def note_memory(self) -> None:
        """Remember the most memory that it had."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as status:  # noqa: PTH123
            lines = dict(line.split(":", 1) for line in status)
        self.peak_mib = int(lines["VmHWM"].split()[0]) / 1024

    def refuse_dead(self) -> None:
        """Exit if it is not there any more."""
        if self._process.poll() is not None:
            raise SystemExit(f"the process ended: {self._log.read_text()[-2000:]}")

    def end(self) -> None:
        """Let it hand over and end."""
        self.note_memory()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class OperatorProcess(MeasuredProcess):
    """`fairlead operator` with a user of its own, by which the audit log knows it."""

    def __init__(self, cluster: TestCluster, user: str) -> None:
        pair = cluster.authority.client(user, user, "system:masters")
        self._metrics = free_port()
        words = [
            *(sys.executable, "-m", "fairlead", "operator", "--namespace", "default"),
            *("--kubeconfig", str(cluster.kubeconfig_of(user, pair)), "--identity", user),
            *("--metrics", f"{LOOPBACK}:{self._metrics}", "--workers", str(WORKERS)),
            *("--payload-address", "https://payload.example.test"),
            *("--payload-ca", str(cluster.authority.pair.certificate)),
        ]
        super().__init__(words, cluster.directory / f"{user}.log")

    def measured(self) -> Measured:
        """What it used and did until now."""
        self.note_memory()
        connection = HTTPConnection(LOOPBACK, self._metrics, timeout=60)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except OSError:
            return Measured(self.cpu_s(), 0)
        finally:
            connection.close()
        lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
        found = {name: float(value) for name, value in lines}
        return Measured(
            self.cpu_s(),
            int(found["fairlead_passes_total"]),
            int(found["fairlead_queue_depth"]),
            bool(found["fairlead_leader"]),
        )

    def wait_until(self, holds: Callable[[Measured], bool], seconds: float) -> None:
        """Wait until it says so of itself."""
        end = time.monotonic() + seconds
        while not holds(seen := self.measured()):
            self.refuse_dead()
            if time.monotonic() > end:
                raise SystemExit(f"the operator did not get there: {seen}")
            time.sleep(LOOK_S)

    def wait_until_quiet(self, seconds: float) -> None:
        """Wait until nothing is due, and nothing came for a while."""
        end = time.monotonic() + seconds
        before, since = self.measured().passes, time.monotonic()
        while time.monotonic() - since < QUIET_S:
            self.refuse_dead()
            if time.monotonic() > end:
                raise SystemExit("the operator did not come to rest")
            time.sleep(LOOK_S)
            seen = self.measured()
            if seen.passes != before or seen.depth:
                before, since = seen.passes, time.monotonic()


def writes_of(cluster: TestCluster, user: str, resource: str = "") -> Counter[str]:
    """How often a user wrote each object, but leases; refused writes count as well."""
    found: Counter[str] = Counter()
    files = sorted(cluster.audit_log.parent.glob(f"{cluster.audit_log.stem}*.log"))
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if f'"username":"{user}"' not in line:
                    continue
                entry = json.loads(line)
                about = entry.get("objectRef", {})
                kind = about.get("resource", "")
                if entry["verb"] in WRITES and kind != "leases" and resource in ("", kind):
                    # What is made has no name in its path.
                    found[f"{kind}/{about.get('name', entry['auditID'])}"] += 1
    return found


@contextmanager
def told_states(admin: KubeClient) -> Iterator[dict[str, list[str]]]:
    """What every pool says of itself while the block runs, one after the other."""
    states: dict[str, list[str]] = {}

    def note(found: Object) -> None:
        said = str((found.get("status") or {}).get("state", ""))
        states.setdefault(found["metadata"]["name"], []).append(said)

    following = Informer(admin, NODE_POOLS, note, lambda said: print(said, file=sys.stderr))
    following.start()
    following.wait_until_synced(SYNC_S)
    try:
        yield states
    finally:
        following.stop()
