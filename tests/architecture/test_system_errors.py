"""
A refusal of the operating system reaches people as a sentence, never as `[Errno 21]`.

Whoever catches one says it by `os_problem`, or by `problem_text` if other errors come there too.
"""

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared_cases import REPOSITORY

SOURCE = REPOSITORY / "src" / "fairlead"

SYSTEM = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, OSError)
}

# Why their refusals may be told as they are.
EXEMPT = {
    "agent/": "ships without telling; its words lose their numbers where they are shown",
    "kube/client.py": "the clients of kubeconfigs and HTTP tell in words of their own",
    "kube/wire/": "the same: what is said of a kubeconfig and its programs",
    "kube/serve/own_question.py": "what a probe reads, whole",
}


def names_in(node: ast.AST) -> set[str]:
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def bare_refusals(tree: ast.Module) -> Iterator[int]:
    """The lines on which an error that may be the system's becomes text."""
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None:
            continue
        if not names_in(handler.type) & SYSTEM:
            continue
        for node in (found for found in ast.walk(handler) if isinstance(found, ast.expr)):
            told: ast.expr | None = None
            if isinstance(node, ast.FormattedValue):
                told = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                told = node.args[0] if node.func.id == "str" else None
            if isinstance(told, ast.Name) and told.id == handler.name:
                yield node.lineno


def modules() -> Iterator[Path]:
    for path in sorted(SOURCE.rglob("*.py")):
        if not any(path.relative_to(SOURCE).as_posix().startswith(name) for name in EXEMPT):
            yield path


def test_no_refusal_of_the_system_is_told_as_a_number() -> None:
    """`os_problem(error)` and `problem_text(error)` say what is wrong, and what helps."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in modules()
        for line in bare_refusals(ast.parse(path.read_text()))
    ]

    assert found == []


@pytest.mark.parametrize("told", ["f'no: {error}'", "str(error)"])
def test_a_bare_number_would_be_found(told: str) -> None:
    code = f"try:\n    x()\nexcept (OSError, KeyError) as error:\n    print({told})\n"

    assert list(bare_refusals(ast.parse(code))) == [4]
