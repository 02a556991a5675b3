"""The agent runs from one file of byte code, and from its sources whatever is wrong with it."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.agent.bundle.make import BLOCK_BYTES, BUNDLE, slim_tree
from shared_cases import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "deploy" / "node"))

from build_agent import INSTALLED, PROGRAM, build_tree, source_version

CONFIG = '{"version": "v1", "kubernetes_version": "1.34.0"}'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program; nobody changes it."""
    return build_tree(tmp_path_factory.mktemp("built"), source_version()) / INSTALLED / PROGRAM


@pytest.fixture
def program(built: Path, tmp_path: Path) -> Path:
    """A copy of the built program, to be hurt."""
    shutil.copytree(built.parent, tmp_path / "agent")
    return tmp_path / "agent" / PROGRAM


def bundle_of(program: Path) -> Path:
    return Path(f"{program}.d", BUNDLE)


def run(program: Path, *words: str, python: str = sys.executable) -> str:
    return subprocess.run(
        [python, "-IS", program, *words], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def boot(program: Path, root: Path, python: str = sys.executable) -> list[str]:
    """Boot an AKS node; return what the record says of the bundle."""
    containers = root / "opt/azure/containers"
    containers.mkdir(parents=True)
    (containers / "provision_start.sh").write_text("exit 0\n")
    (root / "opt/azure/components.json").write_text("{}")
    (containers / "aks-node-controller-config.json").write_text(CONFIG)
    run(program, "boot", f"--root={root}", python=python)
    record = root / "var/log/azure/aks-node-controller-record.jsonl"
    lines = [json.loads(line) for line in record.read_text().splitlines() if line]
    assert lines[-1]["exit"] == 0
    return [line["value"] for line in lines if line.get("fact") == "bundle"]


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


def test_a_boot_needs_no_source_file(program: Path, tmp_path: Path) -> None:
    shutil.rmtree(f"{program}.d/fairlead")

    assert boot(program, tmp_path / "node") == []


def test_a_link_to_the_program_runs_from_the_bundle_too(program: Path, tmp_path: Path) -> None:
    shutil.rmtree(f"{program}.d/fairlead")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/absolute").symlink_to(program)
    (tmp_path / "bin/relative").symlink_to("absolute")

    assert run(tmp_path / "bin/relative", "version") == f"{source_version()}\n"


def test_a_link_to_the_program_runs_from_the_sources_too(program: Path, tmp_path: Path) -> None:
    bundle_of(program).unlink()
    (tmp_path / "link").symlink_to("agent/" + PROGRAM)

    assert run(tmp_path / "link", "version") == f"{source_version()}\n"


def remove(bundle: Path) -> None:
    bundle.unlink()


def empty(bundle: Path) -> None:
    bundle.write_bytes(b"")


def change_magic(bundle: Path) -> None:
    flip(bundle, 0)


def damage_table(bundle: Path) -> None:
    flip(bundle, 5000)


def make_of_other_sources(bundle: Path) -> None:
    """What an upgrade that was cut short would leave: this program, the byte code of another."""
    sources = bundle.parent / "copy"
    shutil.copytree(bundle.parent / "fairlead", sources / "fairlead")
    with (sources / "fairlead/errors.py").open("a") as file:
        file.write("# changed\n")
    maker = sources / "fairlead/agent/bundle/make.py"
    subprocess.run([sys.executable, "-IS", maker, sources], check=True)
    (sources / BUNDLE).replace(bundle)


UNUSABLE = "the bundle is damaged, or of other sources, or of another Python"


@pytest.mark.parametrize(
    ("hurt", "told"),
    [
        (remove, "No such file or directory"),
        (empty, UNUSABLE),
        (change_magic, UNUSABLE),
        (damage_table, UNUSABLE),
        (make_of_other_sources, UNUSABLE),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_bundle_that_cannot_be_used_costs_time_only(
    program: Path, tmp_path: Path, hurt: Callable[[Path], None], told: str
) -> None:
    hurt(bundle_of(program))

    (said,) = boot(program, tmp_path / "node")

    assert told in said


# Of the parts of every command, of provisioning and of a boot: which module asks for it first.
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("fairlead.errors", "fairlead.agent.main"),
        ("fairlead.contract.node_schema", "fairlead.agent.once"),
        ("fairlead.agent.aks.gpu", "fairlead.agent.aks.environment"),
        ("fairlead.agent.stages.fetch_config", "fairlead.agent.boot_stages"),
    ],
)
def test_the_sources_stand_in_for_a_damaged_part(
    program: Path, tmp_path: Path, name: str, asked: str
) -> None:
    at, size = place_of(program, name)
    flip(bundle_of(program), at + size // 2)

    assert boot(program, tmp_path / "node") == [
        f"{asked} is damaged in the bundle, or what lies with it"
    ]


def place_of(program: Path, name: str) -> tuple[int, int]:
    """Return where the part that holds this module begins in the bundle, and how long it is."""
    read = (
        "import marshal, sys; file = open(sys.argv[1], 'rb').read()\n"
        "places, parts = marshal.loads(file[12:])['table']\n"
        "print(*parts[places[sys.argv[2]]][:2])"
    )
    command = [sys.executable, "-IS", "-c", read, str(bundle_of(program)), name]
    at, size = subprocess.run(command, capture_output=True, check=True).stdout.split()
    return int(at), int(size)


# Starts the program once for each length of its bundle, from one process that has it compiled.
CUT_SHORT = """
import os, sys
program, bundle, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = compile(open(program).read(), program, "exec")
whole = open(bundle, "rb").read()
for length in range(0, len(whole), step):
    with open(bundle, "wb") as file:
        file.write(whole[:length])
    child = os.fork()
    if child == 0:
        sys.argv = [program, *sys.argv[4:]]
        exec(start, {"__name__": "__main__", "__file__": program})
    print(length, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def cut_short(program: Path, step: int, *words: str) -> list[str]:
    """Return `length exit-code` and what the command printed, for every length of the bundle."""
    command = [sys.executable, "-IS", "-c", CUT_SHORT, str(program), str(bundle_of(program))]
    ran = subprocess.run([*command, str(step), *words], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@pytest.mark.parametrize("step", [8192, pytest.param(1024, marks=pytest.mark.slow)])
def test_a_bundle_cut_short_anywhere_does_not_matter(program: Path, step: int) -> None:
    size = bundle_of(program).stat().st_size

    lines = cut_short(program, step, "version")

    starts = range(0, size, step)
    assert lines == [line for at in starts for line in (source_version(), f"{at} 0")]


@pytest.mark.slow
def test_every_module_of_a_bundle_cut_short_has_a_source(program: Path, tmp_path: Path) -> None:
    (tmp_path / "node/var/log/fairlead").mkdir(parents=True)

    lines = cut_short(program, 4096, "self-test", f"--root={tmp_path / 'node'}")

    ends = [line for line in lines if not line.startswith("ok ")]
    assert len(ends) > 100
    assert {line.split()[1] for line in ends} == {"0"}


COMPARE = """
import marshal, sys
home = sys.argv[1]
file = open(sys.argv[2], "rb")
space = marshal.loads(file.read()[12:])
exec(space["code"], space)
bundle = space["Bundle"](file.fileno(), home, space["table"], [])
names = sorted(space["table"][0])
bundled = {name: set(vars(bundle.load(name) if name not in sys.modules else sys.modules[name]))
           for name in names}
for name in names:
    sys.modules.pop(name, None)
sys.path.append(home)
for name in names:
    __import__(name)
    only_for_readers = {"annotations", "__annotations__", "__annotate__", "__builtins__"}
    made_by_importing = {other.rpartition(".")[2] for other in names}
    attributes = set(vars(sys.modules[name])) - only_for_readers - made_by_importing
    missing = {one for one in attributes - bundled[name] if not one.startswith("__")}
    if missing:
        print(name, sorted(missing))
"""


def test_every_module_defines_in_the_bundle_what_its_source_defines(built: Path) -> None:
    command = [sys.executable, "-IS", "-c", COMPARE, f"{built}.d", str(bundle_of(built))]

    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_what_only_readers_need_is_left_out() -> None:
    import ast

    tree = slim_tree(
        b'"""Doc."""\n'
        b"from __future__ import annotations\n"
        b"TYPE_CHECKING = False\n"
        b"if TYPE_CHECKING:\n"
        b"    import typing\n"
        b"class Pair:\n"
        b'    """Two."""\n'
        b"    left: int\n"
        b"    right: int = 2\n"
        b"def f(a: int, *, b: str = 'x') -> str:\n"
        b'    """Doc."""\n'
        b"    return b\n"
        b"def nothing() -> None:\n"
        b'    """Doc."""\n'
    )

    assert ast.unparse(tree) == (
        "TYPE_CHECKING = False\n\n"
        "class Pair:\n    right = 2\n\n"
        "def f(a, *, b='x'):\n    return b\n\n"
        "def nothing():\n    pass"
    )


BUILDER = REPOSITORY / "deploy" / "node"
BUILD = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from build_agent import build_tree, source_version
build_tree(pathlib.Path(sys.argv[2]), source_version())
"""


def test_two_builds_of_the_bundle_give_the_same_bytes(tmp_path: Path) -> None:
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        root = tmp_path / seed
        subprocess.run([sys.executable, "-c", BUILD, BUILDER, root], env=environment, check=True)
        program = root / INSTALLED / PROGRAM
        digests.add(hashlib.sha256(bundle_of(program).read_bytes()).hexdigest())

    assert len(digests) == 1


def test_the_table_has_room_to_grow(built: Path) -> None:
    """A table that outgrows its block would fail the build; this tells a while before."""
    block = bundle_of(built).read_bytes()[:BLOCK_BYTES]

    assert len(block) - len(block.rstrip(b"\0")) > BLOCK_BYTES // 8


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_the_maker_serves_every_python_that_images_carry(
    program: Path, tmp_path: Path, version: str
) -> None:
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], check=False).returncode != 0:
        pytest.skip(f"NOT RUN: install python{version}")
    maker = f"{program}.d/fairlead/agent/bundle/make.py"
    subprocess.run([python, "-IS", maker, f"{program}.d"], check=True)
    shutil.rmtree(f"{program}.d/fairlead")

    assert boot(program, tmp_path / "node", python) == []
