"""Without the feature a boot asks nobody, loads nothing for it and leaves the same files."""

import json
import re
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from builders import VALID_CONFIG
from fairlead.contract.boot_document import BootDocument, render_boot_document
from process.agent_process import SOURCE, agent_environment, make_aks_node
from process.tls_server import make_pair

# Of what a run says of itself: its id, and every number, since most of them are times.
DIFFERS = re.compile(r"\b[0-9a-f]{16}\b|\d+(\.\d+)?")
OFF: list[str | None] = [None, "", "1", "True", "TRUE", " true", "false"]
POINTER = {"hotfixes": {"202001.01": "202001.01.9"}}
# Says every look at a name and every connection that is no Unix socket, and what was loaded.
WATCHED = """
import sys
def watch(event, arguments):
    if event == "socket.getaddrinfo" or event == "socket.connect" and arguments[1][:1] != "/":
        sys.stderr.write(f"NETWORK {event} {arguments!r}\\n")
sys.addaudithook(watch)
from fairlead.agent.main import main
code = main()
loaded = sorted(name for name in sys.modules if name.startswith("fairlead.agent.hotfix"))
sys.stderr.write(f"LOADED {loaded}\\n")
sys.exit(code)
"""


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> str:
    return (
        make_pair(tmp_path_factory.mktemp("ca"), "good", "IP:127.0.0.1")
        .with_name("good-ca.pem")
        .read_text()
    )


def make_node(root: Path, ca: str) -> Path:
    """A machine with a pointer and all that could be asked: an API server, a boot document."""
    config: dict[str, Any] = {
        **VALID_CONFIG,
        "api_server_config": {"api_server_name": "127.0.0.1:9"},
        "kubernetes_ca_cert": b64encode(ca.encode()).decode(),
        "hotfixes": {"202604.01": "202604.01.3"},
    }
    make_aks_node(root, config)
    document = render_boot_document(BootDocument("https://127.0.0.1:9/v1/node", ca, "dG9rZW4="))
    containers = root / "opt/azure/containers"
    (containers / "fairlead-boot-document.json").write_bytes(document)
    # A pointer file that an earlier boot, or custom data, left for other bases.
    (containers / "aks-node-controller-hotfix.json").write_text(json.dumps(POINTER))
    directory = root / "etc/fairlead/hotfix"
    directory.mkdir(parents=True)
    (directory / "root.json").write_text("{}")
    return root


def boot(root: Path, value: str | None) -> str:
    variables = {} if value is None else {"ENABLE_PROVISIONING_HOTFIX": value}
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED, "boot", "--root", str(root)],
        env=agent_environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def files_below(root: Path) -> dict[str, Any]:
    """What a boot left, byte for byte but for what differs from run to run."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir() or "/events/" in name:
            continue
        text = path.read_text()
        if name.endswith("record.jsonl"):
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
            text = str(
                [
                    [line.get(word) for word in ("stage", "outcome", "cause", "fact")]
                    for line in lines
                ]
            )
        elif (
            name.endswith((".log", "provision.json", "provision.complete")) or "/run/" in f"/{name}"
        ):
            text = DIFFERS.sub("0", text)
        found[name] = text
    return found


@pytest.fixture(scope="module")
def left_by_default(tmp_path_factory: pytest.TempPathFactory, ca: str) -> dict[str, Any]:
    root = make_node(tmp_path_factory.mktemp("default"), ca)
    boot(root, None)
    return files_below(root)


@pytest.mark.parametrize("value", OFF)
def test_only_the_literal_true_makes_a_boot_ask_anybody(
    tmp_path: Path, ca: str, value: str | None, left_by_default: dict[str, Any]
) -> None:
    said = boot(make_node(tmp_path, ca), value)

    assert [line for line in said.splitlines() if line.startswith("NETWORK")] == []
    assert "LOADED []" in said
    assert files_below(tmp_path) == left_by_default


def test_the_watch_sees_a_boot_that_asks(tmp_path: Path, ca: str) -> None:
    said = boot(make_node(tmp_path, ca), "true")

    assert "NETWORK socket.getaddrinfo ('127.0.0.1', 9" in said
    assert "LOADED ['fairlead.agent.hotfix'" in said


@pytest.mark.root
@pytest.mark.parametrize(
    ("value", "packets"),
    [(None, False), ("", False), ("1", False), ("True", False), ("true", True)],
)
def test_no_packet_leaves_the_machine_in_a_namespace_of_its_own(
    tmp_path: Path, ca: str, value: str | None, packets: bool
) -> None:
    make_node(tmp_path, ca)
    (tmp_path / "opt/azure/containers/fairlead-boot-document.json").unlink()
    gate = "" if value is None else f"ENABLE_PROVISIONING_HOTFIX={value}"
    script = (
        "ip link set lo up && ip address add 169.254.169.254/32 dev lo && "
        f"env PYTHONPATH={SOURCE} {gate} {sys.executable} -m fairlead.agent boot "
        f"--root {tmp_path} 2>/dev/null && cat /proc/net/dev"
    )

    ran = subprocess.run(
        ["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=True
    )

    counters = next(line for line in ran.stdout.splitlines() if line.strip().startswith("lo:"))
    assert (int(counters.split()[2]) > 0) is packets
