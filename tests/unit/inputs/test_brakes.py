"""A brake that somebody pulled is released by name, never by a file that does not mention it."""

from typing import Any

import pytest

from fairlead.inputs.brakes import with_brakes
from pool_documents import platform_document, pool_document

UNTIL = {"until": "2026-07-01T12:00:00Z"}


@pytest.mark.parametrize("pause", [True, UNTIL, "2026-07-01T12:00:00Z"])
def test_a_file_without_a_pause_leaves_it(pause: Any) -> None:
    assert with_brakes(pool_document(), pool_document(paused=pause)) == pool_document(paused=pause)


def test_a_file_that_says_false_ends_a_pause() -> None:
    document = pool_document(paused=False)

    assert with_brakes(document, pool_document(paused=True)) == document


def test_a_platform_file_without_the_kill_switch_leaves_it_on() -> None:
    live = platform_document(stopEverything=True)

    assert with_brakes(platform_document(), live) == live
    released = platform_document(stopEverything=False)
    assert with_brakes(released, live) == released


@pytest.mark.parametrize("live", [None, {}, {"spec": None}, pool_document(), {"spec": 3}])
def test_without_a_brake_a_document_is_as_it_was_written(live: Any) -> None:
    assert with_brakes(pool_document(), live) == pool_document()


@pytest.mark.parametrize("document", [None, 3, {}, {"kind": ["NodePool"]}, {"spec": "x"}])
def test_what_is_no_document_is_left_to_those_who_refuse_it(document: Any) -> None:
    assert with_brakes(document, pool_document(paused=True)) == document
