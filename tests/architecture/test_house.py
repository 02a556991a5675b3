"""The code still has the shape that ARCHITECTURE promises: names, sizes, doors, imports."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from shared_cases import REPOSITORY

SOURCE = REPOSITORY / "src" / "fairlead"
MODULES = sorted(SOURCE.rglob("*.py"))

# What ships to nodes.
SHIPPED = [
    path
    for path in MODULES
    if path.relative_to(SOURCE).parts[0] in ("agent", "contract", "trust", "errors.py")
]

LONGEST_FILE = 400
FORBIDDEN_FILES = {"utils", "helpers", "common", "misc", "base", "core", "types", "constants"}
FORBIDDEN_CLASSES = re.compile(r"(Manager|Helper|Util|Processor|Engine|Service)$")
FORBIDDEN_WORDS = re.compile(r"(^|_)(new|old|legacy|enhanced|improved|better|v2)(_|$)")

# `except Exception` is allowed where a unit of work ends, and nowhere else.
DOORS = {
    "agent/boot.py": 1,  # a boot stage
    "agent/main.py": 2,  # a command; check-hotfix, which exits 0 whatever happens
    "cli/main.py": 1,  # a command
    "controller/attempt.py": 1,  # thinking about a pool
    "controller/loop.py": 1,  # a pass over a pool
    "embedded/machines/drive.py": 1,  # a pass over a machine
    "hotfix/service/http_app.py": 1,  # a web request: a machine's, about fixes
    "hotfix/service/pointers.py": 1,  # a question for a pointer, over either wire
    "kube/cluster_api/updater.py": 1,  # a pass over a machine that changes in place
    "kube/extension/answers.py": 1,  # a web request: Cluster API's, about a change in place
    "kube/operator.py": 1,  # a pass over a pool
    "payload/app.py": 1,  # a web request: a machine's
}

# Modules that cost milliseconds at start-up; a boot without network must load none of them.
DEAR = {
    "argparse", "asyncio", "base64", "collections", "contextlib", "dataclasses", "enum",
    "functools", "http.client", "importlib.metadata", "inspect", "json", "logging", "os", "pathlib",
    "re", "shutil", "socket", "ssl", "subprocess", "tempfile", "typing", "urllib.request",
}  # fmt: skip


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported_modules(path: Path) -> set[str]:
    tree = tree_of(path)
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {
        node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 0
    }
    return {name.split(".")[0] for name in names}


# The interpreter's own SHA-256, whose name moved in Python 3.12: each is missing from the other's
# list of standard modules.
MOVED = {"_sha2", "_sha256"}


def test_what_ships_to_machines_imports_only_the_standard_library() -> None:
    allowed = {*sys.stdlib_module_names, "fairlead", *MOVED}
    imported = {name_of(path): imported_modules(path) for path in SHIPPED}

    assert {name: names - allowed for name, names in imported.items() if names - allowed} == {}


def test_what_ships_to_machines_parses_as_python_3_10() -> None:
    for path in SHIPPED:
        ast.parse(path.read_text(), filename=str(path), feature_version=(3, 10))


def test_a_file_is_small_enough_to_hold_in_your_head() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}

    assert {name: count for name, count in lines.items() if count > LONGEST_FILE} == {}


def test_files_classes_and_functions_are_named_for_what_they_know() -> None:
    wrong = [name_of(path) for path in MODULES if path.stem in FORBIDDEN_FILES]
    for path in MODULES:
        wrong += [f"{name_of(path)}: {name}" for name in forbidden_names(tree_of(path))]

    assert wrong == []


def forbidden_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and FORBIDDEN_CLASSES.search(node.name):
            yield node.name
        if isinstance(node, ast.FunctionDef) and FORBIDDEN_WORDS.search(node.name):
            yield from [] if node.name.startswith("_new") else [node.name]


def test_broad_handlers_are_at_the_doors_only() -> None:
    found = {}
    for path in MODULES:
        handlers = [
            node
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.ExceptHandler)
            and (node.type is None or ast.unparse(node.type) == "Exception")
        ]
        if handlers:
            found[name_of(path)] = len(handlers)

    assert {name: count for name, count in found.items() if count > DOORS.get(name, 0)} == {}


def test_a_todo_has_an_owner_and_an_end() -> None:
    for path in MODULES:
        for line in path.read_text().splitlines():
            assert "TODO" not in line or re.search(r"TODO\(#\d+\): ", line), f"{path}: {line}"


@pytest.mark.parametrize(
    "command", ["boot", "provision", "provision-wait", "version", "download-hotfix"]
)
def test_a_command_loads_no_dear_module(tmp_path: Path, command: str) -> None:
    containers = tmp_path / "opt/azure/containers"
    containers.mkdir(parents=True)
    (containers / "provision_start.sh").write_text("exit 0\n")
    (tmp_path / "opt/azure/components.json").write_text("{}")
    config = containers / "aks-node-controller-config.json"
    config.write_text('{"version": "v1"}')
    (containers / "aks-node-controller-hotfix.json").write_text("{}")
    if command == "provision-wait":
        (containers / "provision.complete").touch()
    start = f"import sys; sys.path.insert(0, {str(REPOSITORY / 'src')!r}); sys.argv[1:] = "
    flags = [f"--root={tmp_path}"]
    if command == "provision":
        flags.append(f"--provision-config={config}")
    start += f"{[command, *flags]!r}; from fairlead.agent.main import main; main()"

    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", start],
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(re.findall(r"import time:.*\| +(\S+)", ran.stderr))
    assert loaded & DEAR == set()
    assert len(loaded) <= 100


def test_the_agent_floor_is_declared_for_every_shipped_package() -> None:
    settings = (REPOSITORY / "pyproject.toml").read_text()

    for package in ("agent", "contract", "trust"):
        assert f'"src/fairlead/{package}/**" = "py310"' in settings


def test_no_two_test_files_have_one_name() -> None:
    """pytest imports them by their bare names, and would stop at the second."""
    names = [path.name for path in (REPOSITORY / "tests").rglob("test_*.py")]

    assert sorted({name for name in names if names.count(name) > 1}) == []
