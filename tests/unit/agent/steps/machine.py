"""A simulated machine that systemd runs: the programs that the steps start, with their effects."""

import json
from collections.abc import Callable
from typing import Any

from fairlead.agent.process import Finished
from fairlead.agent.steps.run import StepsResult, run_steps
from fairlead.agent.steps.table import NODE_STEPS
from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_parse import parse_node_config
from fairlead.sim.disk import Disk
from fairlead.sim.host import SimHost

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nQUFB\n-----END CERTIFICATE-----\n"
OTHER_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nQkJC\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0LWtleQ==\n-----END PRIVATE KEY-----\n"
TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - made up for these tests

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
OK = Finished(0, b"")


def make_config(**fields: Any) -> NodeConfig:
    """The smallest config that makes a node, with these top-level fields replaced or added."""
    document = {
        "version": "v1",
        "api_server_config": {"api_server_name": "api.example.test"},
        "kubernetes_ca_cert": CERTIFICATE,
        "bootstrapping_config": {"tls_bootstrapping_token": TOKEN},
        **fields,
    }
    return parse_node_config(json.dumps(document).encode()).config


def run_all(host: Any, config: NodeConfig) -> StepsResult:
    return run_steps(NODE_STEPS, host, config, lambda *_: None)


def words_of(result: StepsResult) -> dict[str, str]:
    return {run.name: run.word for run in result.runs}


def changes_of(result: StepsResult) -> list[str]:
    return [change for run in result.runs for change in run.outcome.changed]


class Machine(SimHost):
    """systemd as PID 1, containerd and kubelet from packages, an API server that is not there."""

    def __init__(self, disk: Disk | None = None, *, stops_at: int | None = None) -> None:
        super().__init__(disk, stops_at=stops_at)
        self.is_directory = False
        self.active: set[str] = set()
        self.enabled: set[str] = set()
        self.loaded: dict[str, bytes] = {}
        self.linked: set[str] = set()
        self.kernel_is_stubborn = False
        self.health = 200
        # How long the machine takes to reach a target.
        self.targets_take_s = 0.0
        # After how much sleep it gets the host name in its file; None: never.
        self.named_after_s: float | None = None
        # What each service's process is, and what it printed; one that is in `dying` dies young.
        self.processes: dict[str, int] = {}
        self.began_us: dict[str, int] = {}
        self.journal: dict[str, bytes] = {}
        self.dying: dict[str, float] = {}
        self.deaths: dict[str, int] = {}
        self.statuses: dict[str, int] = {}
        self.containerd_version = b"containerd example.test/containerd v1.7.22 abc\n"
        self.programs = {
            "systemctl": lambda _host, command, _env: self._systemctl(command[1:]),
            "update-ca-certificates": lambda *_: self._bundle(),
            "/usr/lib/systemd/systemd-sysctl": lambda *_: self._sysctl(),
            "systemd-tmpfiles": lambda *_: self._huge_pages(),
            "/usr/bin/containerd": lambda *_: Finished(0, self.containerd_version),
            "journalctl": lambda _host, command, _env: self._journal(command),
            "fallocate": lambda *_: OK,
            "mkswap": lambda *_: OK,
        }

    @classmethod
    def fresh(cls) -> "Machine":
        """A machine as its image left it."""
        machine = cls()
        for path in ("/usr/bin/containerd", "/usr/bin/kubelet"):
            machine.put(path, b"program", 0o755)
        for unit in ("containerd.service", "kubelet.service"):
            machine.put(f"/usr/lib/systemd/system/{unit}", b"[Service]\nExecStart=/bin/true\n")
        for path in ("/run/systemd/system", "/var"):
            machine.make_directory(path)
        machine.put("/etc/ssl/certs/ca-certificates.crt", b"")
        machine.put("/proc/sys/net/ipv4/ip_forward", b"0\n")
        machine.put("/proc/sys/kernel/hostname", b"Node-1\n")
        machine.put("/proc/swaps", b"Filename Type Size Used Priority\n")
        machine.load_units()
        return machine

    def after_reboot(self, disk: Disk) -> "Machine":
        """The same machine with this disk and the services as they were, and no memory of a run."""
        other = Machine(disk)
        other.active, other.enabled = set(self.active), set(self.enabled)
        other.loaded, other.linked = dict(self.loaded), set(self.linked)
        return other

    def put(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self.make_directory(path.rpartition("/")[0])
        self.write_file(path, content, mode, sync=True)

    def text(self, path: str) -> str:
        return self.read_file(path).decode()

    def files(self) -> list[str]:
        return [path for path, inode in self.disk.names.items() if not inode.is_directory]

    def load_units(self) -> None:
        self.loaded = {unit: self._unit_files(unit) for unit in UNITS}
        self.linked = set(self.enabled)

    def commands(self) -> list[str]:
        """What was started, except questions and waits."""
        lines = [" ".join(command) for command in self.started]
        questions = ("systemctl show", "/usr/bin/containerd --version", "journalctl")
        asked = [line for line in lines if not line.startswith(questions)]
        return [line for line in asked if not line.endswith(".target")]

    def can_connect(self, path: str) -> bool:
        return path == CONTAINERD_SOCKET and "containerd.service" in self.active

    def fetch_status(
        self, url: str, *, ca_file: str = "", certificate_file: str = "", deadline_s: float = 2.0
    ) -> int:
        if url.startswith("http://127.0.0.1:") and "kubelet.service" in self.active:
            return self.health
        if url in self.statuses:
            return self.statuses[url]
        raise ConnectionRefusedError(111, "Connection refused")

    def _unit_files(self, unit: str) -> bytes:
        paths = [f"/usr/lib/systemd/system/{unit}", f"/etc/systemd/system/{unit}"]
        drop_ins = f"/etc/systemd/system/{unit}.d"
        if self.file_mode(drop_ins) is not None:
            paths += [f"{drop_ins}/{name}" for name in self.list_directory(drop_ins)]
        return b"\0".join(
            path.encode() + self.read_file(path)
            for path in paths
            if self.file_mode(path) is not None and path.endswith((".service", ".conf"))
        )

    def _systemctl(self, arguments: list[str]) -> Finished:
        verb, *rest = arguments
        units = [argument for argument in rest if not argument.startswith("-")]
        effects: dict[str, Callable[[], Finished]] = {
            "show": lambda: self._show(rest, units),
            "is-active": lambda: Finished(0 if units[0] in self.active else 3, b""),
            "daemon-reload": self._reload,
            "enable": lambda: self._enable(units[0], "--now" in rest),
            "disable": lambda: self._disable(units[0]),
            "start": lambda: self._activate(units[0]),
            "restart": lambda: self._activate(units[0]),
            "stop": lambda: self._stop(units[0]),
        }
        return effects[verb]()

    def _show(self, rest: list[str], units: list[str]) -> Finished:
        if any("NeedDaemonReload" in word for word in rest):
            blocks = [
                f"Id={unit}\nNeedDaemonReload={self._needs_reload(unit)}\n"
                f"UnitFileState={'enabled' if unit in self.enabled else 'disabled'}"
                for unit in units
            ]
            return Finished(0, "\n\n".join(blocks).encode() + b"\n")
        if not units:
            return Finished(1, b"this systemd keeps no time stamps\n")
        active = "active" if units[0] in self.active else "inactive"
        enabled = "enabled" if units[0] in self.enabled else "disabled"
        text = f"ActiveState={active}\nSubState=running\nUnitFileState={enabled}\n"
        if units[0] in self.deaths:
            text = "ActiveState=activating\nSubState=auto-restart\nResult=exit-code\n"
            text += f"ExecMainStatus={self.deaths[units[0]]}\n"
        process = self.processes.get(units[0], 0) if units[0] in self.active else 0
        text += f"ExecMainStartTimestampMonotonic={self.began_us.get(units[0], 0)}\n"
        return Finished(0, f"{text}MainPID={process}\n".encode())

    def _needs_reload(self, unit: str) -> str:
        """As systemd 254 and later: links that were made since count too."""
        is_known = self.loaded[unit] == self._unit_files(unit) and self.linked == self.enabled
        return "no" if is_known else "yes"

    def _journal(self, command: list[str]) -> Finished:
        return Finished(0, self.journal.get(command[-1].removeprefix("_SYSTEMD_UNIT="), b""))

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.named_after_s is not None:
            self.named_after_s -= seconds
            if self.named_after_s <= 0:
                self.named_after_s = None
                self.put("/proc/sys/kernel/hostname", self.read_file("/etc/hostname"))
        for unit in list(self.dying):
            self.dying[unit] -= seconds
            if self.dying[unit] <= 0:
                del self.dying[unit]
                self._die(unit)

    def _die(self, unit: str) -> None:
        self.active.discard(unit)
        self.deaths[unit] = 1
        self.remove(f"/proc/{self.processes.pop(unit)}")

    def _reload(self) -> Finished:
        self.load_units()
        return OK

    def _enable(self, unit: str, now: bool) -> Finished:
        self.enabled.add(unit)
        if now:
            self.load_units()
        return self._activate(unit) if now else OK

    def _disable(self, unit: str) -> Finished:
        self.enabled.discard(unit)
        self.load_units()
        return self._stop(unit)

    def _activate(self, unit: str) -> Finished:
        if unit.endswith(".target"):
            self.sleep(self.targets_take_s)
            return OK
        self.active.add(unit)
        self.processes[unit] = 100 + len(self.started)
        self.put(f"/proc/{self.processes[unit]}", b"")
        self.began_us[unit] = self.monotonic_ns() // 1000
        if unit == "var-swapfile.swap":
            reserve = next(c for c in reversed(self.started) if c[0] == "fallocate")
            size_kib = int(reserve[2].removesuffix("MiB")) * 1024 - 4
            self.put("/proc/swaps", f"Filename\n/var/swapfile file {size_kib} 0 -2\n".encode())
        return OK

    def _stop(self, unit: str) -> Finished:
        self.active.discard(unit)
        if unit == "var-swapfile.swap":
            self.put("/proc/swaps", b"Filename\n")
        return OK

    def _bundle(self) -> Finished:
        sources = "/usr/local/share/ca-certificates"
        names = self.list_directory(sources)
        for name in self.list_directory("/etc/ssl/certs"):
            if name.startswith("fairlead-"):
                self.remove(f"/etc/ssl/certs/{name}")
        for name in names:
            self.put(f"/etc/ssl/certs/{name.removesuffix('.crt')}.pem", b"link")
        bundle = b"".join(self.read_file(f"{sources}/{name}") for name in names)
        self.put("/etc/ssl/certs/ca-certificates.crt", bundle)
        return OK

    def _sysctl(self) -> Finished:
        if self.kernel_is_stubborn:
            return OK
        for line in self.text("/etc/sysctl.d/60-fairlead.conf").splitlines():
            key, _, value = line.lstrip("-").partition(" = ")
            # As systemd reads sysctl.d: a dot first means that dots and slashes trade places.
            path = "/proc/sys/" + key.translate(str.maketrans("./", "/."))
            if self.file_mode(path) is not None:
                self.put(path, value.replace(" ", "\t").encode() + b"\n")
        return OK

    def _huge_pages(self) -> Finished:
        for line in self.text("/etc/tmpfiles.d/fairlead-huge-pages.conf").splitlines():
            _, path, *_, word = line.split()
            self.put(path, f"always [{word}] never".encode())
        return OK


UNITS = ("containerd.service", "kubelet.service")
