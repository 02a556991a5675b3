"""Tests of one worker share an API server: a pool's name belongs to one test."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from shared_cases import REPOSITORY


def declared_pools() -> Iterator[tuple[str, str]]:
    """Yield (pool, the test that declares it) for every name that is written as such."""
    for path in sorted((REPOSITORY / "tests/kube").glob("test_*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                match call:
                    case ast.Call(
                        func=ast.Attribute(attr="declare"), args=[ast.Constant(value=str(name)), *_]
                    ):
                        yield name, f"{path.name}::{function.name}"


def test_no_two_tests_on_a_cluster_declare_pools_of_one_name() -> None:
    tests_of = defaultdict(set)
    for pool, test in declared_pools():
        tests_of[pool].add(test)

    assert len(tests_of) > 30
    assert {pool: tests for pool, tests in tests_of.items() if len(tests) > 1} == {}
