"""A node config is rendered once for as long as its leaves are looked at, whatever its size."""

from __future__ import annotations

import pytest

from fairlead.contract.json_text import encode_json
from fairlead.inputs.leaf import Leaves
from fairlead.inputs.remembered import Remembered
from fairlead.revision import node_config_text
from fairlead.revision.node_config_text import render_node_config
from pool_documents import leaves_of, pool_document

FLEET = 1_000


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every document that is rendered, beginning with none that is remembered."""
    found: list[object] = []

    def encode(document: object, **settings: int) -> str:
        found.append(document)
        return encode_json(document, indent=settings["indent"], ascii_only=False)

    monkeypatch.setattr(node_config_text, "encode_json", encode)
    monkeypatch.setattr(node_config_text, "_RENDERED", Remembered(node_config_text.MOST_TEXT))
    return found


def leaves(number: int, size: int = 500) -> Leaves:
    """The leaves of a pool like no other, with a file of so many letters."""
    files = [{"path": "/etc/motd", "content": f"{number}" + "x" * size}]
    return leaves_of(pool_document(config=[{"kind": "Files", "files": files}]))


def test_a_thousand_pools_of_which_no_two_are_alike_are_rendered_once(
    rendered: list[object],
) -> None:
    fleet = [leaves(number) for number in range(FLEET)]

    first = [render_node_config(one) for one in fleet]
    second = [render_node_config(one) for one in fleet]

    assert first == second
    assert len(set(first)) == FLEET
    assert len(rendered) == FLEET


def test_leaves_that_are_equal_and_spelled_otherwise_are_rendered_apart() -> None:
    texts = []
    for value in (1, True, 1.0):
        texts.append(render_node_config({**leaves_of(), "platform.cloudConfig": {"answer": value}}))

    assert len(set(texts)) == 3


def test_a_large_pool_puts_no_other_out(rendered: list[object]) -> None:
    render_node_config(leaves(1))
    for number in range(2, 300):
        render_node_config(leaves(number, size=100_000))
    rendered.clear()

    render_node_config(leaves(1))

    assert rendered == []
