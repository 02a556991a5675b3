"""
Make the bundle: the byte code of every module of the agent, in one file, for this interpreter.

    python3 -IS fairlead-node.d/fairlead/agent/bundle/make.py fairlead-node.d

Runs where the agent is built, and on the machine when its package is installed: byte code differs
between Python versions. What only readers and type checkers need is left out: docstrings,
annotations, line numbers and what stands under TYPE_CHECKING. An error of the agent is told in
words and never as a traceback; who wants one removes the bundle and runs the sources.

The file is one block and its parts. The block is the magic number of the interpreter, a checksum
of the rest of it with a key that is the sources' own, and, marshalled, the code of load.py and a
table: module name to the number of its part, and of each part where it begins, how long it is, and
its checksum. A part is a marshalled dict: module name to whether it is a package, what of ours must
run before it, and its code. deploy/node/launcher.py reads the block.
"""

from __future__ import annotations

import ast
import hashlib
import marshal
import os
import sys
from _frozen_importlib_external import MAGIC_NUMBER
from _imp import source_hash
from types import CodeType

# As the interpreter names its own .pyc files: its kind and version.
BUNDLE = f"{sys.implementation.cache_tag}.bundle"

# The launcher reads this much before it knows anything. The table takes two thirds of it.
BLOCK_BYTES = 24 * 1024

# As in load.py, which this must not import: it runs as a script, too.
PART_KEY = 20261116

# One part for every command, two more for those that provision by scripts, one more for a boot:
# these modules and what they import at their top. Every other module is a part by itself. None of
# them is above 128 KiB, from where on the C library asks the kernel for each buffer.
ALWAYS_TOGETHER = (
    ("fairlead.agent.main", "fairlead.agent.report.status"),
    ("fairlead.agent.boot", "fairlead.agent.aks.components"),
    (
        "fairlead.agent.aks.environment",
        "fairlead.agent.aks.containerd_version",
        "fairlead.agent.aks.containerd_config_text",
    ),
    ("fairlead.agent.boot_stages", "fairlead.agent.early.find_document"),
)

# Of a module: is it a package, what of ours must run before it, its code.
Compiled = tuple[bool, tuple[str, ...], CodeType]

LOADER = "fairlead.agent.bundle.load"

# What `from __future__ import annotations` tells the compiler.
POSTPONED_ANNOTATIONS = 0x1000000


def main(directory: str) -> None:
    """Write the bundle of the packages in this directory, whole or not at all."""
    path = f"{directory}/{BUNDLE}"
    content = make_bundle(read_sources(directory))
    with open(path + ".tmp", "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), 0o644)
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)


def read_sources(directory: str) -> dict[str, bytes]:
    """Return every source file below this directory by its path there, in order."""
    sources = {}
    for folder, _, names in os.walk(directory):
        for path in (f"{folder}/{name}" for name in names if name.endswith(".py")):
            with open(path, "rb") as file:
                sources[os.path.relpath(path, directory)] = file.read()
    return dict(sorted(sources.items()))


def key_of(sources: dict[str, bytes]) -> int:
    """
    Return what tells these sources from any others, as the key of a checksum: 60 bits.

    Checksums find damage and stale files. They are no secret and prove no origin.
    """
    digest = hashlib.sha256()
    for path, source in sources.items():
        digest.update(f"{path}\n{len(source)}\n".encode() + source)
    return int(digest.hexdigest()[:15], 16)


def make_bundle(sources: dict[str, bytes]) -> bytes:
    """Return the bundle of these sources. Raises ValueError if its table is too large."""
    key = key_of(sources)
    modules = _compile_all({_module_name(path): path for path in sources}, sources)
    places: dict[str, int] = {}
    parts: list[tuple[int, int, bytes]] = []
    contents, at = [], BLOCK_BYTES
    for names in _parts_of(modules):
        content = marshal.dumps({name: modules[name] for name in names})
        places.update(dict.fromkeys(names, len(parts)))
        parts.append((at, len(content), source_hash(PART_KEY, content)))
        contents.append(content)
        at += len(content)
    block = marshal.dumps({"code": modules[LOADER][2], "table": (places, parts)})
    room = BLOCK_BYTES - len(MAGIC_NUMBER) - len(source_hash(key, b""))
    if len(block) > room:
        raise ValueError(f"the table takes {len(block)} bytes, expected at most {room}")
    block = block.ljust(room, b"\0")
    return b"".join([MAGIC_NUMBER, source_hash(key, block), block, *contents])


def _compile_all(paths: dict[str, str], sources: dict[str, bytes]) -> dict[str, Compiled]:
    compiled = {}
    for name, path in paths.items():
        tree = slim_tree(sources[path])
        needs = tuple(_needs_of(tree, name, paths))
        compiled[name] = (path.endswith("/__init__.py"), needs, _compile(tree, path))
    return compiled


def _parts_of(modules: dict[str, Compiled]) -> list[list[str]]:
    """Return the names of each part, every module in one."""
    parts: list[list[str]] = []
    left = dict.fromkeys(modules)
    for roots in (*ALWAYS_TOGETHER, *((name,) for name in modules)):
        pending, part = list(roots), []
        while pending:
            name = pending.pop()
            if name in left:
                del left[name]
                part.append(name)
                pending += modules[name][1] if roots in ALWAYS_TOGETHER else ()
        if part:
            parts.append(sorted(part))
    return parts


def _compile(tree: ast.Module, path: str) -> CodeType:
    code = compile(tree, path, "exec", flags=POSTPONED_ANNOTATIONS, dont_inherit=True)
    return _without_lines(code)


def _without_lines(code: CodeType) -> CodeType:
    """Return the code without its table of line numbers, a quarter of it; its parts likewise."""
    consts = [
        _without_lines(part) if isinstance(part, CodeType) else part for part in code.co_consts
    ]
    return code.replace(co_linetable=b"", co_consts=tuple(consts))


def _module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _needs_of(tree: ast.Module, name: str, known: dict[str, str]) -> list[str]:
    """Return the modules of ours that must be loaded before this one, its packages first."""
    parts = name.split(".")
    needs = [".".join(parts[:end]) for end in range(1, len(parts))]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            needs.append(node.module or "")
            needs += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            needs += [alias.name for alias in node.names]
    return [need for need in dict.fromkeys(needs) if need in known]


def slim_tree(source: bytes) -> ast.Module:
    """Return what of a module has an effect when it runs."""
    tree = ast.parse(source)
    _Slimmer().visit(tree)
    return ast.fix_missing_locations(tree)


class _Slimmer(ast.NodeTransformer):
    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "__future__" else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)

    def _without_docstring(self, node: ast.Module | ast.ClassDef | ast.FunctionDef) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


if __name__ == "__main__":
    main(sys.argv[1])
