"""kill -9 of the real process, or a defect in it, between every two operations of a boot."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builders import BUILT_IN_CONFIG
from fairlead.agent.report.record import parse_record

DRIVER = Path(__file__).parent / "killed_agent.py"


def boot(root: Path, broken_at: int, how: str = "kill") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DRIVER), how, str(broken_at), "boot", "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def make_node(root: Path, kind: str) -> Path:
    """An AKS image with a script, or an image without any."""
    if kind == "scripts":
        containers = root / "opt/azure/containers"
        containers.mkdir(parents=True)
        (containers / "provision_start.sh").write_text("exit 0\n")
        (root / "opt/azure/components.json").write_text("{}")
        (containers / "aks-node-controller-config.json").write_text('{"version": "v1"}')
        return root
    (root / "etc/fairlead").mkdir(parents=True)
    (root / "etc/fairlead/node-config.json").write_text(json.dumps(BUILT_IN_CONFIG))
    return root


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scripts", "built-in-steps"])
def test_a_killed_boot_leaves_parseable_files_and_the_second_boot_succeeds(
    tmp_path: Path, kind: str
) -> None:
    whole = boot(make_node(tmp_path / "whole", kind), 0)
    assert whole.returncode == 0, whole.stderr
    operations = int(whole.stdout.rpartition("operations=")[2])
    assert operations > 30

    for killed_at in range(1, operations + 1):
        root = make_node(tmp_path / f"at-{killed_at}", kind)
        status = find_status(root, kind)

        killed = boot(root, killed_at)
        assert killed.returncode == -signal.SIGKILL
        if status.exists():
            assert json.loads(status.read_text())["ExitCode"] == "0"
        for record in root.rglob("*record.jsonl"):
            parse_record(record.read_bytes())

        second = boot(root, 0)
        assert second.returncode == 0, second.stderr
        assert json.loads(status.read_text())["ExitCode"] == "0"
        (record,) = root.rglob("*record.jsonl")
        assert parse_record(record.read_bytes())[-1].exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scripts", "built-in-steps"])
def test_a_defect_at_any_operation_still_leaves_a_verdict(tmp_path: Path, kind: str) -> None:
    whole = boot(make_node(tmp_path / "whole", kind), 0)
    operations = int(whole.stdout.rpartition("operations=")[2])

    # The first operation finds out the layout: before it nobody knows where a verdict goes.
    for broken_at in range(2, operations + 1):
        root = make_node(tmp_path / f"at-{broken_at}", kind)

        broken = boot(root, broken_at, "defect")

        assert "Traceback" not in broken.stderr, broken_at
        assert json.loads(find_status(root, kind).read_text())["ExitCode"] in ("0", "240", "241")
        assert list(root.rglob("provision.complete")) != [], broken_at


def find_status(root: Path, kind: str) -> Path:
    layout = "azure/aks" if kind == "scripts" else "fairlead"
    return root / "var/log" / layout / "provision.json"
