"""The watermark is never ahead of the database, survives damage, and takes no room on the disk."""

from pathlib import Path

import pytest

from fairlead.embedded.store.watermark import (
    HALF,
    Mark,
    Watermark,
    draw_mark,
    find_mark,
    write_mark,
)
from fairlead.errors import InputError

DATABASE = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_mark(tmp_path / "watermark", Mark(DATABASE))
    return tmp_path / "watermark"


def raised(file: Path, *numbers: int) -> None:
    watermark = Watermark(file, DATABASE)
    for number in numbers:
        watermark.rise(number)
    watermark.close()


def test_a_mark_is_found_as_it_was_left(file: Path) -> None:
    assert find_mark(file) == Mark(DATABASE, 0)

    raised(file, 1, 2, 3)

    assert find_mark(file) == Mark(DATABASE, 3)


def test_no_file_is_no_mark(tmp_path: Path) -> None:
    assert find_mark(tmp_path / "watermark") is None


def test_every_database_has_a_mark_of_its_own() -> None:
    assert draw_mark() != draw_mark()
    assert draw_mark().number == 0


def test_a_damaged_half_leaves_the_one_before(file: Path) -> None:
    raised(file, 6, 7)
    content = bytearray(file.read_bytes())
    content[HALF + 20] ^= 1  # an odd number is in the second half
    file.write_bytes(content)

    assert find_mark(file) == Mark(DATABASE, 6)


@pytest.mark.parametrize("bit", range(0, 80 * 8, 7))
def test_no_flipped_bit_makes_the_mark_lead(file: Path, bit: int) -> None:
    raised(file, 6, 7)
    for half in (0, HALF):
        content = bytearray(file.read_bytes())
        content[half + bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        found = find_mark(file)
        content[half + bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)

        assert found in (Mark(DATABASE, 6), Mark(DATABASE, 7))


@pytest.mark.parametrize("content", [b"", b"\n" * 1024, b"fairlead", b"\0" * 1024, b"x" * 2_000])
def test_a_file_that_says_nothing_is_refused_with_a_way_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "watermark").write_bytes(content)

    with pytest.raises(InputError, match="watermark cannot be read") as refused:
        find_mark(tmp_path / "watermark")

    assert "fairlead restore --as-it-is" in refused.value.hint


def test_counting_takes_no_room(file: Path) -> None:
    before = file.stat()

    raised(file, *range(1, 2_000))

    assert file.stat().st_size == before.st_size
    assert file.stat().st_ino == before.st_ino
