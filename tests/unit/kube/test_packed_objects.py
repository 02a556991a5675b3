"""Objects are kept as they are while they are small, and compressed once they are not."""

from typing import Any

import pytest

from fairlead.kube.packed import Packed, packed

METADATA = {"name": "a", "uid": "u", "resourceVersion": "7"}


def found(characters: int) -> dict[str, Any]:
    return {"metadata": METADATA, "spec": {"text": "x" * characters}}


@pytest.mark.parametrize("characters", [0, 1_900, 3_000, 1_000_000])
def test_an_object_is_read_as_it_was_whatever_its_size(characters: int) -> None:
    kept = packed(found(characters), is_marked=True)

    assert kept.object == found(characters)
    assert (kept.version, kept.uid, kept.is_marked) == ("7", "u", True)
    assert kept.object is not kept.object


def test_a_small_object_is_not_compressed_and_a_large_one_is() -> None:
    assert packed(found(0)).content == (
        b'{"metadata":{"name":"a","uid":"u","resourceVersion":"7"},"spec":{"text":""}}'
    )
    assert len(packed(found(1_900)).content) == 1_976
    assert len(packed(found(3_000)).content) < 1_000


def test_what_is_no_object_is_not_read() -> None:
    with pytest.raises(Exception, match="incorrect header check"):
        assert Packed("7", "u", b"unreadable").object
