"""
Guards that types and imports cannot give: what once crept in does not come back unseen.

Part of `make check`. Each says what it found and why that matters.
"""

import ast
import enum
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from types import ModuleType

import grimp
import pytest

import fairlead.answers
import fairlead.cli.screens
import fairlead.telling
from fairlead.contract.node_schema import MESSAGES, TOP_MESSAGE
from shared_cases import REPOSITORY

SOURCE = REPOSITORY / "src" / "fairlead"
MODULES = sorted(SOURCE.rglob("*.py"))

MIDDLE = (
    "contract", "answers", "inputs", "revision", "decision", "userdata", "rollout", "timeline",
    "boots", "controller", "proposal", "telling",
)  # fmt: skip

LONGEST_BODY = 35
LONGEST_BODY_OF_THE_PATH = 25
THE_PATH = ("controller", "decision", "rollout")
MOST_MODULES = 20


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function below its docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_a_function_fits_on_a_screen() -> None:
    long = []
    for path, node in functions():
        most = LONGEST_BODY_OF_THE_PATH if package_of(path) in THE_PATH else LONGEST_BODY
        if body_lines(node) > most:
            long.append(f"{name_of(path)}:{node.name} has {body_lines(node)} lines, {most} fit")

    assert long == []


def test_no_folder_is_flat_and_long() -> None:
    folders: dict[Path, int] = {}
    for path in MODULES:
        if path.name != "__init__.py":
            folders[path.parent] = folders.get(path.parent, 0) + 1

    assert {
        name_of(folder): count for folder, count in folders.items() if count > MOST_MODULES
    } == {}


def test_the_command_line_knows_the_type_of_everything() -> None:
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if package_of(path) == "cli"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Name) and node.id == "Any"
    ]

    assert found == []


def fields_of(node: ast.ClassDef) -> frozenset[str]:
    return frozenset(
        line.target.id
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    )


def shapes() -> dict[str, frozenset[str]]:
    """The classes that are made of fields, by name."""
    return {
        f"{name_of(path)}:{node.name}": fields_of(node)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and fields_of(node)
    }


def are_twins(one: frozenset[str], other: frozenset[str]) -> bool:
    """Four fields or more in common, and three quarters of all: one fact, packed twice."""
    shared = one & other
    return len(shared) >= 4 and 4 * len(shared) >= 3 * len(one | other)


def test_no_fact_is_packed_into_two_shapes() -> None:
    found = shapes()
    twins = [
        f"{one} and {other}"
        for one, other in combinations(sorted(found), 2)
        if are_twins(found[one], found[other])
    ]

    assert twins == []


def test_twins_would_be_found() -> None:
    plan = frozenset({"pool", "change", "machines", "intent_hash", "platform_hash"})

    assert are_twins(plan, plan | {"removed"})
    assert not are_twins(plan, frozenset({"pool", "change", "name", "phase", "revision"}))


def test_no_module_imports_itself_on_a_detour() -> None:
    """Also where the import stands inside a function: such a pair is one module in two files."""
    graph = grimp.build_graph("fairlead", cache_dir=None)
    cycles = []
    for module in sorted(graph.modules):
        for imported in graph.find_modules_directly_imported_by(module):
            if graph.find_shortest_chain(imported, module) is not None:
                cycles.append(f"{module} imports {imported}, which leads back")

    assert cycles == []


OPENING = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "ZoneInfo"}


def test_the_middle_of_the_path_names_no_way_to_open_a_file() -> None:
    found = []
    for path in MODULES:
        if package_of(path) not in MIDDLE:
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call):
                called = node.func
                name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
                if name in OPENING:
                    found.append(f"{name_of(path)}:{node.lineno} calls {name}")

    assert found == []


# A pass, a plan and its sentences in a process that tells of every file it opens.
QUIET_THOUGHT = """
import sys
from fairlead.sim.world import SimWorld
from fairlead.controller.observe import PoolDocuments
from fairlead.controller.think import think
from fairlead.controller.observe import observe
from fairlead.proposal.propose import propose
from fairlead.telling.pool import pool_detail
from fairlead.zones import find_zone
import _strptime

world = SimWorld()
window = {"start": "22:00", "duration": "4h", "zone": "Europe/Berlin"}
document = {
    "apiVersion": "fairlead.dev/v1alpha1", "kind": "NodePool", "metadata": {"name": "workers"},
    "spec": {"replicas": 2, "release": {"version": "1.34.2"}, "rollout": {"windows": [window]},
             "config": [{"kind": "Sysctl", "settings": {"vm.swappiness": "10"}}]},
}
platform = world.read_platform()
find_zone("Europe/Berlin")  # an edge's read: once per zone

def run():
    propose(world.world(), [document], world.clock.now)
    world.documents["workers"] = PoolDocuments(pool=document, platform=platform)
    world.settle()
    seen = observe("workers", world.world())
    pool_detail(seen, think(seen, world.clock.now), world.clock.now, ())

run_once = "--warm" in sys.argv and run()
world.__init__()
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
run()
print(opened)
"""


def test_a_pass_and_a_plan_open_no_file() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", QUIET_THOUGHT, "--warm"], capture_output=True, text=True, check=True
    )

    assert ran.stdout == "[]\n"


# Functions that take a path of the contract: methods of NodeConfig, and sources of the environment.
METHODS = {"find", "text", "flag", "number", "real", "texts", "mapping", "has"}
SOURCES = {
    "text", "text_or", "one_line", "joined", "flag", "flag_or", "number", "number_or", "real_or",
    "choice", "chosen", "filled", "all_filled", "present",
}  # fmt: skip


def paths_called(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call that are paths of the contract."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        return node.args[:1] if ast.unparse(node.func.value).endswith("config") else []
    if isinstance(node.func, ast.Name) and node.func.id in SOURCES:
        return node.args if node.func.id == "all_filled" else node.args[:1]
    return []


def config_paths() -> Iterator[tuple[str, str]]:
    """Literal paths of the contract in the agent, each with where it stands."""
    for path in MODULES:
        if package_of(path) != "agent":
            continue
        for node in ast.walk(tree_of(path)):
            found: list[ast.expr] = paths_called(node) if isinstance(node, ast.Call) else []
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("_FIELD"):
                found = [node.value]
            for value in found:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value, f"{name_of(path)}:{value.lineno}"


def is_field(path: str) -> bool:
    message = TOP_MESSAGE
    for name in path.split("."):
        if message not in MESSAGES or name not in MESSAGES[message]:
            return False
        _, kind, label = MESSAGES[message][name]
        message = "" if label == "map" else kind
    return True


def test_every_path_of_a_config_in_the_agent_is_a_field_of_the_contract() -> None:
    found = list(config_paths())

    assert len(found) > 120
    assert [f"{where}: {path}" for path, where in found if not is_field(path)] == []
    assert is_field("kubelet_config.kubelet_flags")
    assert not is_field("kubelet_config.kubelet_flag")
    assert not is_field("kubelet_config.kubelet_flags.--v")


def modules_below(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


# Tables that are about some words only, each with the reason.
PARTIAL = {
    "fairlead.telling.summary.HELD_WORDS",  # the other waits hold no whole rollout
    "fairlead.telling.ways._WAYS",  # the other waits are for a machine, and have its ways
}


@pytest.mark.parametrize(
    "package", [fairlead.answers, fairlead.cli.screens, fairlead.telling], ids=lambda p: p.__name__
)
def test_a_table_over_words_has_a_row_for_each(package: ModuleType) -> None:
    lacking = []
    for module in modules_below(package):
        for name, table in vars(module).items():
            if not isinstance(table, dict) or not table or f"{module.__name__}.{name}" in PARTIAL:
                continue
            kinds = {type(key) for key in table}
            kind = next(iter(kinds))
            if len(kinds) == 1 and issubclass(kind, enum.Enum) and set(table) != set(kind):
                missing = ", ".join(word.name for word in set(kind) - set(table))
                lacking.append(f"{module.__name__}.{name} has no row for {missing}")

    assert lacking == []


# A decision is superseded by a later one and never edited. A digest is added when one lands.
DECISIONS = {
    "0001-decisions-are-dated.md": "97f30640d939f5d3",
    "0002-import-diet.md": "aa9b33365ecacda6",
    "0003-hotfix-gate-differences.md": "a77b75ccefa41978",
    "0004-dependencies.md": "2bfbff35d441b1c2",
    "0005-four-lines-one-run.md": "1cf84e184fab8a37",
    "0006-the-controllers-silences.md": "115fd4b7a650a121",
    "0008-the-embedded-edge.md": "eafcce049d2b9f13",
    "0009-generated-completion.md": "ee24c31c0972ba06",
    "0010-msgspec.md": "3133fa8e5cd15362",
    "0011-answers-proposals-telling.md": "4971e88bec2d3ad7",
    "0012-yaml-of-cloud-configs.md": "affe82a04356ae8c",
    "0013-one-bundle.md": "ffb99f64ea168bb2",
    "0014-tools-built-for-tests.md": "439341f3bdc46356",
    "0015-a-token-for-each-machine.md": "7545f46901aa6f89",
    "0017-what-was-written-is-there.md": "f94ba612195fe3bb",
    "0018-a-node-keeps-its-document.md": "c4d92f5ee95ad566",
    "0019-intent-is-what-was-written.md": "e812bc2c0dee5ee3",
    "0020-what-an-approval-binds.md": "743288f27213aa99",
    "0021-nobody-is-stuck.md": "59f0c1bd3dbd851f",
    "0022-locks-and-bill-of-materials.md": "319665f62963bd6e",
    "0024-roles-by-the-kernel.md": "9c9f9e20adfd6115",
    "0025-how-fixes-are-signed-and-published.md": "530ed37e65de6a43",
    "0026-the-aks-wire.md": "1c63d2ba4e18c250",
    "0027-a-fix-in-a-process-of-its-own.md": "59d60e87e320948f",
    "0028-proofs-read-strictly.md": "ba05c426950249a9",
    "0029-the-client-of-a-cluster.md": "73d3cc1ba0b755c2",
    "0030-a-fix-is-a-fact.md": "2d022ef037c4bf1d",
    "0031-empty-values-of-a-kubelet.md": "5cee97f2000c61ef",
    "0032-parts-of-the-bundle.md": "590907ee92ad79ff",
    "0035-one-look-for-each-pass.md": "3c2ac885e857afa4",
    "0036-commands-ask-a-cluster-themselves.md": "110a7d1a2b45cd78",
    "0038-in-place-on-cluster-api.md": "dc3417ec0368d744",
    "0040-services-and-copies-in-a-cluster.md": "a7f78ec9331c3d30",
    "0041-an-attempt-is-counted.md": "df914ce754341178",
    "0042-a-status-alone-wakes-nobody.md": "24c66f6238779bc5",
    "0043-a-ledger-over-the-api-server.md": "9182ae445aadcc51",
    "0044-the-bars-of-a-boot.md": "5fe765483e8d5bd2",
    "0045-in-place-or-not-at-all.md": "f943cc8928290f02",
    "0047-what-people-see-of-boots.md": "a08c699cc0dd53fc",
    "0056-a-keeper-ends-what-it-kept.md": "b46c278dbcb8e277",
    "0057-an-edge-makes-room-for-a-fix.md": "fe30dd39e25878f5",
    "0060-what-a-cluster-keeps-in-plain.md": "1a375829bfcbb673",
    "0061-a-limit-for-detaching-volumes.md": "4b5b06627cd70fe9",
    "0063-silence-is-doubt-at-once.md": "4e8eb98a75d6ce62",
    "0065-the-flag-gates-the-question.md": "384658806184cf32",
    "0066-a-newer-wish-ends-a-rollout.md": "adc7b1d56ed8012f",
    "0067-connections-of-our-own.md": "8bb001c30345f0b7",
    "0068-a-control-plane-says-its-version.md": "3335ac6c60f9fe67",
    "0069-roles-bound-in-namespaces.md": "656a13210b16d5d0",
    "0070-a-changes-own-report-ends-it.md": "94dac654145091af",
    "0071-judged-as-it-is-served.md": "7e2818cee059cc2a",
}


def test_decisions_are_as_they_were_taken() -> None:
    folder = REPOSITORY / "docs/decisions"
    found = {path.name: sha256(path.read_bytes()).hexdigest()[:16] for path in folder.iterdir()}

    assert {name: digest for name, digest in found.items() if DECISIONS.get(name) != digest} == {}
