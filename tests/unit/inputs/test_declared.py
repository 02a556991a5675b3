"""Pools are parsed once for as long as they are in use, and what is remembered is bounded."""

from __future__ import annotations

import pytest

from fairlead.errors import InputError
from fairlead.inputs import declared
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.parse import parse_node_pool
from pool_documents import pool_document


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every document that is parsed from here on."""
    parsed: list[object] = []

    def parse(document: object) -> object:
        parsed.append(document)
        return parse_node_pool(document)

    monkeypatch.setattr("fairlead.inputs.declared.parse_node_pool", parse)
    return parsed


def test_a_document_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = counted(monkeypatch)

    first = declared_pool(pool_document(description="seen once"))

    assert declared_pool(pool_document(description="seen once")) is first
    assert len(parsed) == 1


def test_values_that_are_equal_and_mean_other_things_are_told_apart() -> None:
    one = declared_pool(pool_document(replicas=1))
    yes = declared_pool(pool_document(replicas=True))

    assert one.settings != yes.settings


def test_what_is_no_pool_is_refused_every_time() -> None:
    for _ in range(2):
        with pytest.raises(InputError):
            declared_pool({"kind": "Pod"})


def test_documents_are_forgotten_once_their_text_is_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed = counted(monkeypatch)
    large = "x" * (declared.MOST_TEXT // 2)

    for mark in "abc":
        declared_pool(pool_document(description=mark + large))
    declared_pool(pool_document(description="c" + large))
    assert len(parsed) == 3

    declared_pool(pool_document(description="a" + large))
    assert len(parsed) == 4
