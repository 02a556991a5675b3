"""
One boot of a machine whose fix path is hurt, and what became of it.

    python fix_fault_run.py CASE.json

Runs in whatever namespaces it is started in: its servers are on the loopback of that network. The
machine is a directory, or the root that a program enters, as the case says.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairlead.contract.boot_document import BootDocument, render_boot_document
from process.agent_process import agent_environment
from process.fix_kit import TOKEN, service, serving_packages
from process.tls_server import serving
from shared_cases import REPOSITORY

CONTAINERS = "opt/azure/containers"
RECORD = "var/log/azure/aks-node-controller-record.jsonl"
FIX_STAGES = ("check-hotfix", "download-hotfix", "choose-agent")
ENTERED = "/srv"
METADATA_SERVICE = ("169.254.169.254", 80)


@dataclass
class Case:
    """
    A machine that is there already, and how its boot is hurt.

    asked, package: a fault of fix_kit.py, or the name of a good file in it. repository: '' for a
    directory, else what apt's source does. name: the service is asked by this name, not by its
    address. how: what dying_agent.py does. wire: of the service, `grpc` or ''. metadata: what the
    metadata service does, which proves the machine then; '' for a machine with a token.
    """

    kit: str
    root: str
    asked: str = "good"
    package: str = "package"
    how: str = "kill 0"
    decide_s: float = 2.0
    install_s: float = 4.0
    repository: str = ""
    name: str = ""
    listens: bool = True
    wire: str = ""
    metadata: str = ""


@dataclass
class Outcome:
    """What became of a boot."""

    exit_code: int
    verdict: str
    took: dict[str, int] = field(default_factory=dict)
    causes: dict[str, str] = field(default_factory=dict)
    fact: dict[str, str] = field(default_factory=dict)
    survivors: list[str] = field(default_factory=list)
    told: str = ""

    @property
    def is_provisioned(self) -> bool:
        return self.exit_code == 0 and self.verdict == "0"

    def excess_s(self, decide_s: float, install_s: float) -> float:
        """By how much a half of the fix path took longer than it may; less than 0 if it did not."""
        check, download, choose = (self.took.get(name, 0) / 1000 for name in FIX_STAGES)
        return max(check - decide_s, download + choose - install_s)


def run_case(case: Case) -> Outcome:
    """Boot the machine of this case with its servers around it."""
    with served(case):
        ran, survivors = run_agent(case, "boot")
    outcome = _outcome(Path(case.root), ran.returncode)
    outcome.survivors = survivors
    outcome.told = ran.stderr.decode(errors="replace")
    return outcome


@contextmanager
def served(case: Case) -> Iterator[None]:
    """Serve what the machine of this case asks for, and tell the machine where."""
    kit, root = Path(case.kit), Path(case.root)
    with ExitStack() as stack:
        server = stack.enter_context(serving(kit, service(kit, case.asked, case.package)))
        if case.wire:
            server.speak("aks-live-patching", "h2")
        if case.metadata:
            stack.enter_context(serving_packages(kit, case.metadata, METADATA_SERVICE))
        port = server.port if case.listens else 9
        authority = f"{case.name or '127.0.0.1'}:{port}"
        ca = (kit / "good-ca.pem").read_text()
        document = BootDocument(f"https://{authority}/v1/node", ca, TOKEN)
        path = root / CONTAINERS / "fairlead-boot-document.json"
        path.write_bytes(render_boot_document(document))
        hotfix = root / "etc/fairlead/hotfix"
        said: dict[str, object] = {"decide_s": case.decide_s, "install_s": case.install_s}
        if case.wire:
            said |= {"wire": case.wire, "endpoint": f"https://{authority}", "ca": ca}
        if case.metadata:
            said["attestation"] = "azure"
        (hotfix / "service.json").write_text(json.dumps(said))
        if case.repository:
            directory = kit / "repositories" / case.repository
            directory = directory if directory.is_dir() else kit / "repositories/good"
            packages = stack.enter_context(serving_packages(directory, case.repository))
            host = "fixes.example.test" if case.repository == "no-names" else "127.0.0.1"
            (hotfix / "repository.list").write_text(
                f"deb [signed-by=/etc/fairlead/hotfix/repository.gpg] http://{host}:{packages} ./\n"
            )
        yield


def run_agent(case: Case, command: str) -> tuple[subprocess.CompletedProcess[bytes], list[str]]:
    """Run a command of the agent; return how it ended, and which processes of it are left."""
    root, mark = Path(case.root), uuid.uuid4().hex
    program = REPOSITORY / "tests/process/dying_agent.py"
    variables = {"ENABLE_PROVISIONING_HOTFIX": "true", "FAIRLEAD_TEST_MARK": mark}
    words = [*case.how.split(), command]
    if case.repository:
        variables["PYTHONPATH"] = f"{ENTERED}/src"
        variables["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        shutil.copy(program, root / "srv/dying_agent.py")
        words = ["chroot", str(root), "/usr/bin/python3", f"{ENTERED}/dying_agent.py", *words]
    else:
        words = [sys.executable, str(program), *words, f"--root={root}"]
    ran = subprocess.run(
        words,
        env=agent_environment(**variables),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    return ran, alive(mark)


def _outcome(root: Path, exit_code: int) -> Outcome:
    status = root / "var/log/azure/aks/provision.json"
    verdict = json.loads(status.read_text())["ExitCode"] if status.exists() else "none"
    found = Outcome(exit_code, verdict)
    lines = [json.loads(line) for line in (root / RECORD).read_text().splitlines() if line]
    for line in lines:
        if "stage" in line and "took" in line:
            found.took[line["stage"]] = line["took"]
            found.causes[line["stage"]] = line.get("cause", "")
        if line.get("fact") == "hotfix":
            found.fact = line["value"]
    return found


def alive(mark: str) -> list[str]:
    """Return the processes that carry the mark, once those that were killed had time to go."""
    end = time.monotonic() + 0.2
    while True:
        found = [
            path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if _has(path, mark)
        ]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.02)


def _has(path: Path, mark: str) -> bool:
    try:
        return mark.encode() in path.read_bytes()
    except OSError:
        return False


def main() -> None:
    fields: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    outcome = run_case(Case(**fields))
    sys.stdout.write(json.dumps(asdict(outcome)) + "\n")


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main()
