"""A drive with a document of somebody else, on a node that boots again: nothing is taken."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from boot.boot_case import (
    CASES,
    COLLECTED,
    LAYOUT_OF_IMAGE,
    RECORDS,
    BootCase,
    BootResult,
    config_on,
    prepare,
    read_result,
)
from boot.drives import DRIVE_TOOLS, attach_drive
from boot.node import Node, make_node, missing_tools, start_node, stop_node
from boot.roots import SUITES, agent_layer, base_root
from fairlead.agent.layout import Layout
from fairlead.userdata.delivery import Inline
from fairlead.userdata.render import Target, render_user_data

pytestmark = [pytest.mark.root, pytest.mark.slow]

SETTINGS = "etc/fairlead-node/seeds.conf"

# As the image allows it, what keeps the document out: the kind of device, or the node's own one.
ALLOWED = {
    "loop devices are no drives": (
        "",
        "is a loop device or another that no hardware stands behind",
    ),
    "loop devices are drives": ("DRIVES=any\n", "holds another document than this node has"),
    "nodes may be provisioned again": (
        "DRIVES=any\nREPROVISION=yes\n",
        "holds another document than this node has",
    ),
}


@pytest.fixture(autouse=True)
def _tools() -> None:
    missing = missing_tools(*DRIVE_TOOLS)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")


def first_boot(case: BootCase, node: Node, stack: ExitStack, settings: str) -> BootResult:
    """Boot a machine from the seed on its own disk."""
    (node.root / SETTINGS).parent.mkdir(parents=True)
    (node.root / SETTINGS).write_text(settings)
    options = prepare(case, node, stack)
    start_node(node, options=tuple(options))
    node.wait_for(COLLECTED)
    return read_result(case, node)


def boot_again(case: BootCase, node: Node, options: list[str]) -> BootResult:
    stop_node(node)
    (node.root / COLLECTED.lstrip("/")).unlink()
    start_node(node, options=tuple(options))
    node.wait_for(COLLECTED)
    return read_result(case, node)


def hostile_user_data(case: BootCase) -> bytes:
    """Everything that the node of this case would take, made by somebody else."""
    config = {**json.loads(case.node_config()), "kubernetes_version": "6.6.6"}
    features = {"ENABLE_PROVISIONING_HOTFIX": "true", "LD_PRELOAD": "/mnt/evil.so"}
    target = Target("boothook", layout=case.layout, features=features)
    return render_user_data(Inline(json.dumps(config).encode()), target)


@pytest.mark.parametrize("allowed", ALLOWED)
@pytest.mark.parametrize("image", ["aks", "plain"])
@pytest.mark.parametrize("suite", SUITES)
def test_a_hostile_cidata_volume_at_the_second_boot_is_not_taken_and_told(
    suite: str, image: str, allowed: str
) -> None:
    folder = CASES / ("floor-directory" if image == "aks" else "floor-built-in-steps")
    case = BootCase("hostile", folder, image=image, seed="directory", render="boothook")
    layout = Layout(LAYOUT_OF_IMAGE[image], {})
    settings, why = ALLOWED[allowed]
    with ExitStack() as stack:
        node = stack.enter_context(make_node(agent_layer(suite), base_root(suite)))
        first = first_boot(case, node, stack, settings)
        assert (first.state, config_on(case, node)) == ("running", (case.node_config(), "0600"))
        assert "refused" not in first.records[-1].facts

        files = {"user-data": hostile_user_data(case), "meta-data": b"instance-id: i-evil\n"}
        second = boot_again(case, node, attach_drive("cidata-iso", files, node.directory, stack))

        told = second.journal[-4000:]
        assert config_on(case, node) == (case.node_config(), "0600"), told
        assert not (node.root / layout.features.lstrip("/")).exists(), told
        assert (second.state, second.place()) == ("running", "NoCloud seed"), told
        # In the record, in the status, in the journal.
        assert why in str(second.records[-1].facts["refused"]), told
        status = json.loads(node.read(layout.status))
        assert why in str(status["fairlead"]["facts"]["refused"])
        assert (status["ExitCode"], status["fairlead"]["exit"]) == ("0", 0)
        assert second.journal.count("document refused") == 1, told


@pytest.mark.parametrize("suite", SUITES)
def test_an_image_may_let_its_own_seed_provision_a_node_again(suite: str, tmp_path: Path) -> None:
    case = BootCase("again", CASES / "floor-directory", seed="directory", render="boothook")
    with ExitStack() as stack:
        node = stack.enter_context(make_node(agent_layer(suite), base_root(suite)))
        first_boot(case, node, stack, "REPROVISION=yes\n")
        (tmp_path / "given").mkdir()
        changed = {**json.loads(case.node_config()), "kubernetes_version": "1.35.0"}
        (tmp_path / "given/node-config.json").write_text(json.dumps(changed))
        other = BootCase("again", tmp_path, seed="directory", render="boothook")
        seed = node.root / "var/lib/cloud/seed/nocloud/user-data"
        seed.write_bytes(other.user_data())

        second = boot_again(other, node, [])

        assert config_on(other, node) == (other.node_config(), "0600"), second.journal[-4000:]
        assert second.place() == "NoCloud seed"
        assert "refused" not in second.records[-1].facts
        assert len(node.read(RECORDS["aks"]).split('{"run":')) > 2
