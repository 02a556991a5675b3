"""
The built-in steps under a real systemd, in a container that nothing leaves.

containerd and kubelet are small programs that write down how they were started. The root is made
once and kept below build/roots; each run writes to memory only. No network, and no step that
reaches the kernel of this machine: swap and huge pages are not part of it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from shared_cases import REPOSITORY

pytestmark = [pytest.mark.root, pytest.mark.slow]

SUITE = "bookworm"
PACKAGES = "systemd,systemd-sysv,dbus,python3,ca-certificates,kmod"
ROOT = REPOSITORY / "build" / "roots" / f"{SUITE}-steps"
TOOLS = ("systemd-nspawn", "mmdebstrap", "openssl")
CGROUPS = Path("/sys/fs/cgroup")

# A boot of this root takes 2 s, the three runs of the steps about 5 s.
BOOT_DEADLINE_S = 60

PASSWORD = "proxy-pass%n$HOME"  # noqa: S105 - made up for this test
FLAG = '%n $HOME $(id) it\'s "q" `x` \\'

CONTAINERD = """\
#!/usr/bin/python3
import json, os, resource, socket, sys
if "--version" in sys.argv:
    print("containerd example.test/containerd v1.7.22 0")
    sys.exit()
with open("/result/containerd.jsonl", "a") as log:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    log.write(json.dumps({"proxy": os.environ.get("HTTP_PROXY"), "limit": limit}) + "\\n")
os.makedirs("/run/containerd", exist_ok=True)
path = "/run/containerd/containerd.sock"
if os.path.exists(path):
    os.unlink(path)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
while True:
    server.accept()[0].close()
"""

CONTAINERD_UNIT = """\
[Unit]
Description=containerd as its package brings it
[Service]
Type=notify
ExecStart=/usr/bin/containerd
[Install]
WantedBy=multi-user.target
"""

KUBELET = """\
#!/usr/bin/python3
import http.server, json, os, sys, time
with open("/result/kubelet.jsonl", "a") as log:
    line = {"arguments": sys.argv[1:], "proxy": os.environ.get("HTTP_PROXY")}
    log.write(json.dumps(line) + "\\n")
time.sleep(0.3)
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 10248), Health).serve_forever()
"""

# kubeadm's drop-in replaces the command line too; ours must come after it.
KUBEADM_DROP_IN = "[Service]\nExecStart=\nExecStart=/bin/false\n"

DRIVER = """\
import json, subprocess, sys, traceback
sys.path.insert(0, "/opt/fairlead")
from fairlead.agent.host import RealHost
from fairlead.agent.steps.run import run_steps
from fairlead.agent.steps.table import NODE_STEPS
from fairlead.contract.node_parse import parse_node_config

def shown(unit, name):
    command = ["systemctl", "show", "--value", "--property=" + name, unit]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()

UNITS = ("containerd.service", "kubelet.service")
runs = []
for name in ("first", "first", "second"):
    with open(f"/result/{name}.json", "rb") as file:
        config = parse_node_config(file.read()).config
    result = run_steps(NODE_STEPS, RealHost(), config, lambda *_: None)
    runs.append({
        "steps": {
            run.name: {
                "word": run.word, "cause": run.cause, "ms": run.duration_ns // 1000000,
                "changed": run.outcome.changed, "already": run.outcome.already,
            }
            for run in result.runs
        },
        "invocations": {unit: shown(unit, "InvocationID") for unit in UNITS},
        "environments": [shown(unit, "Environment") for unit in UNITS],
        "enabled": [shown(unit, "UnitFileState") for unit in UNITS],
    })
with open("/etc/ssl/certs/ca-certificates.crt") as file:
    bundle = file.read()
with open("/proc/sys/net/ipv4/tcp_keepalive_time") as file:
    keepalive = file.read().strip()
with open("/result/report.json", "w") as file:
    json.dump({"runs": runs, "bundle": bundle, "keepalive": keepalive}, file)
"""

DRIVER_UNIT = """\
[Unit]
Description=Run the built-in steps and power off
After=basic.target
[Service]
Type=oneshot
ExecStart=-/bin/sh -c 'exec /usr/bin/python3 /opt/driver.py > /result/driver.log 2>&1'
ExecStart=/bin/systemctl --no-block poweroff
"""


@pytest.fixture(scope="module")
def root() -> Path:
    if os.geteuid() != 0:
        pytest.skip("NOT RUN: a container with systemd needs root")
    missing = [tool for tool in TOOLS if which(tool) is None]
    if missing:
        pytest.skip(f"NOT RUN: install {', '.join(missing)}")
    if not ROOT.exists():
        half = ROOT.with_suffix(".half")
        subprocess.run(["rm", "-rf", half], check=True)
        half.parent.mkdir(parents=True, exist_ok=True)
        make = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}"]
        subprocess.run([*make, SUITE, half], check=True, timeout=600)
        half.rename(ROOT)
    return ROOT


def make_certificate(directory: Path) -> str:
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    files = ["-keyout", str(directory / "key.pem"), "-out", str(directory / "ca.pem")]
    options = ["-nodes", "-days", "2", "-subj", "/CN=steps test"]
    subprocess.run([*request, *options, *files], check=True, capture_output=True)
    return (directory / "ca.pem").read_text()


def make_document(certificate: str, password: str) -> dict[str, Any]:
    return {
        "version": "v1",
        "api_server_config": {"api_server_name": "127.0.0.1:6443"},
        "kubernetes_ca_cert": certificate,
        "bootstrapping_config": {"tls_bootstrapping_token": "abcdef.0123456789abcdef"},
        "custom_ca_certs": [certificate],
        "http_proxy_config": {"http_proxy": f"http://user:{password}@proxy.example.test:3128"},
        "kubelet_config": {
            "kubelet_flags": {"--v": FLAG},
            "kubelet_node_labels": {"pool": "one"},
        },
        "custom_linux_os_config": {
            "ulimit_config": {"no_file": "4096:8192"},
            "sysctl_config": {"net_ipv4_tcp_keepalive_time": 1234},
        },
    }


@contextmanager
def control_groups(name: str) -> Iterator[list[Path]]:
    """Groups of its own for the container, in each hierarchy that systemd looks at."""
    parents = [CGROUPS / part for part in ("systemd", "unified", ".")]
    groups = [parent / name for parent in parents if (parent / "cgroup.procs").exists()]
    for group in groups:
        group.mkdir(exist_ok=True)
    try:
        yield groups
    finally:
        for group in groups:
            _empty(group)


def _empty(group: Path) -> None:
    """Kill what is left in a group of ours, then remove it."""
    for procs in group.rglob("cgroup.procs"):
        for process in procs.read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
    directories = [*(path for path in group.rglob("*") if path.is_dir()), group]
    end = time.monotonic() + 10
    for path in sorted(directories, reverse=True):
        while path.exists():
            try:
                path.rmdir()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


def boot(root: Path, files: dict[str, Path], result: Path) -> None:
    """Boot the root with these files over it until it powers off."""
    binds = [f"--bind-ro={source}:{target}" for target, source in files.items()]
    with control_groups(f"fairlead-steps-{os.getpid()}") as groups:
        enter = "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups)
        command = [
            *("/bin/sh", "-c", enter + 'exec "$@"', "enter"),
            *("systemd-nspawn", "--quiet", "--boot", f"--directory={root}", "--volatile=overlay"),
            *("--register=no", "--keep-unit", f"--machine=fairlead-steps-{os.getpid()}"),
            *("--private-network", "--link-journal=no", "--resolv-conf=off", "--timezone=off"),
            *("--console=pipe", f"--bind={result}:/result", *binds),
            "systemd.wants=steps.service",
        ]
        environment = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        console = result / "console.log"
        # On the deadline nspawn is killed here, and what it started by _empty.
        with console.open("wb") as output, suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=BOOT_DEADLINE_S,
                check=False,
            )


@pytest.fixture(scope="module")
def result(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = tmp_path_factory.mktemp("given")
    result = tmp_path_factory.mktemp("result")
    certificate = make_certificate(given)
    (result / "first.json").write_text(json.dumps(make_document(certificate, PASSWORD)))
    (result / "second.json").write_text(json.dumps(make_document(certificate, "other-word")))
    files = {}
    for target, text, mode in (
        ("/usr/bin/containerd", CONTAINERD, 0o755),
        ("/usr/bin/kubelet", KUBELET, 0o755),
        ("/usr/lib/systemd/system/containerd.service", CONTAINERD_UNIT, 0o644),
        ("/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf", KUBEADM_DROP_IN, 0o644),
        ("/usr/lib/systemd/system/steps.service", DRIVER_UNIT, 0o644),
        ("/opt/driver.py", DRIVER, 0o644),
    ):
        source = given / target.replace("/", "_")
        source.write_text(text)
        source.chmod(mode)
        files[target] = source
    files["/opt/fairlead/fairlead"] = REPOSITORY / "src" / "fairlead"
    boot(root, files, result)
    if not (result / "report.json").exists():
        for log in ("driver.log", "console.log"):
            path = result / log
            sys.stdout.write(path.read_text(errors="replace") if path.exists() else f"no {log}\n")
        pytest.fail("the container left no report; its logs are above")
    return result


@pytest.fixture(scope="module")
def report(result: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((result / "report.json").read_text())
    return loaded


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def changes(run: dict[str, Any]) -> list[str]:
    return [change for step in run["steps"].values() for change in step["changed"]]


def test_every_step_is_done_and_both_services_are_enabled(report: dict[str, Any]) -> None:
    first = report["runs"][0]

    words = {name: step["word"] for name, step in first["steps"].items()}
    assert len(words) == 20
    assert set(words.values()) == {"done"}, first
    assert first["enabled"] == ["enabled", "enabled"]
    assert changes(first).count("ran systemctl daemon-reload") == 1
    # lo is up in a private network, so the refusal is immediate and repeated for 5 s.
    assert "did not answer within 5 s" in first["steps"]["wait-for-node"]["cause"]


def test_a_second_run_changes_nothing_and_restarts_nothing(report: dict[str, Any]) -> None:
    first, second, _ = report["runs"]

    assert changes(second) == []
    assert second["invocations"] == first["invocations"]


def test_another_proxy_restarts_both_services_and_needs_no_reload(report: dict[str, Any]) -> None:
    _, second, third = report["runs"]

    assert changes(third) == [
        "wrote /etc/fairlead/proxy.env",
        "restarted containerd.service",
        "restarted kubelet.service",
    ]
    for unit, invocation in third["invocations"].items():
        assert invocation != second["invocations"][unit]


def test_the_services_get_every_value_as_it_was_written(result: Path) -> None:
    kubelet = lines_of(result / "kubelet.jsonl")
    containerd = lines_of(result / "containerd.jsonl")

    assert kubelet[0]["arguments"] == [
        "--config=/etc/kubernetes/kubelet-config.json",
        "--kubeconfig=/etc/kubernetes/kubelet.conf",
        "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
        '--v=%n $HOME $(id) it\'s "q" `x` \\',
        "--node-labels=pool=one",
    ]
    proxies = [
        "http://user:proxy-pass%n$HOME@proxy.example.test:3128",
        "http://user:other-word@proxy.example.test:3128",
    ]
    assert [line["proxy"] for line in kubelet] == proxies
    assert [line["proxy"] for line in containerd] == proxies
    assert containerd[0]["limit"] == [4096, 8192]


def test_systemd_does_not_show_the_proxy_password(report: dict[str, Any]) -> None:
    shown = [text for run in report["runs"] for text in run["environments"]]

    assert "proxy-pass" not in "".join(shown)


def test_the_certificate_is_trusted_and_the_kernel_has_the_setting(
    report: dict[str, Any], result: Path
) -> None:
    document = json.loads((result / "first.json").read_text())

    assert document["custom_ca_certs"][0].strip() in report["bundle"]
    assert report["keepalive"] == "1234"
