"""
A node that runs is taken to another document, by the very command of the Job that does it on a
cluster: in a mount namespace of its own, through a chroot, as the container of a pod would.
"""

import json
import shlex
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from boot.boot_case import IMAGES
from boot.cloud import make_cloud
from boot.control_plane import CONTROL_PLANE_TOOLS, make_control_plane
from boot.faults import FAULT_TOOLS, a_machine, end_of
from boot.node import Node, missing_tools
from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.kube.cluster_api.change_job import DOCUMENT, DOCUMENT_DIRECTORY, HOST, change_command
from fairlead.userdata.delivery import Fetch
from fairlead.userdata.render import Target, render_user_data

pytestmark = [pytest.mark.root, pytest.mark.slow]

CONFIG = "/etc/fairlead/node-config.json"
STATUS = "/var/log/fairlead/provision.json"

# What a container runtime does before it starts the program of a pod.
POD = """\
mkdir -p {host}
mount --rbind / {host}
mkdir -p {place}
mount -t tmpfs tmpfs {place}
cat > {place}/{document}
exec {command}
"""


def run_job(node: Node, document: BootDocument) -> CompletedProcess[str]:
    """Run the command of the Job on a node, with this document in its Secret."""
    script = POD.format(
        host=HOST,
        place=f"{HOST}{DOCUMENT_DIRECTORY}",
        document=DOCUMENT,
        command=shlex.join(change_command()),
    )
    given = f"/run/given-{document.deadline_s}"
    text = render_boot_document(document).decode()
    node.enter("sh", "-c", f"umask 077; printf %s {shlex.quote(text)} > {given}")
    words = (
        "unshare",
        "--mount",
        "--propagation=private",
        "sh",
        "-ec",
        f"exec < {given}\n{script}",
    )
    return node.enter(*words, timeout_s=120)


def config(version: str) -> bytes:
    plain = json.loads((IMAGES / "plain.json").read_text())
    return json.dumps({**plain, "kubernetes_version": version}).encode()


def test_a_running_node_is_changed_by_the_command_of_a_job_and_twice_is_once(
    tmp_path: Path,
) -> None:
    missing = missing_tools(*FAULT_TOOLS, *CONTROL_PLANE_TOOLS)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    folder = tmp_path / "changed"
    folder.mkdir()
    with make_cloud() as cloud, make_control_plane(cloud) as plane:
        token = plane.admit(folder.name, config("1.34.2"))
        stub = plane.document(token, deadline_s=30)
        user_data = render_user_data(Fetch(stub), Target("boothook", layout="fairlead"))
        with a_machine(folder, image="plain", user_data=user_data) as machine:
            node = machine.node
            machine.network = cloud.attach(node.name)
            machine.start()
            first = end_of(machine)
            assert first.verdict()[:2] == (0, "0"), first.error
            assert '"1.34.2"' in node.read(CONFIG)
            run_before = json.loads(node.read(STATUS))["fairlead"]["run"]

            plane.admit(folder.name, config("1.34.3"))
            changed = run_job(node, plane.document(token, deadline_s=31))
            assert changed.returncode == 0, changed.stderr
            assert '"1.34.3"' in node.read(CONFIG)
            run_after = json.loads(node.read(STATUS))["fairlead"]["run"]
            assert run_after != run_before

            again = run_job(node, plane.document(token, deadline_s=31))
            assert again.returncode == 0, again.stderr
            assert json.loads(node.read(STATUS))["fairlead"]["run"] == run_after

            plane.admit(folder.name, b"[]")
            failed = run_job(node, plane.document(token, deadline_s=32))
            assert failed.returncode == 1
            assert "the answer is no node config" in failed.stderr
