"""Text of strangers, made visible."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.contract.visible_text import visible


def test_what_moves_a_cursor_or_turns_the_writing_is_spelled_out() -> None:
    assert visible("a\x1b[2J\u202e\n\t\x85\u200f\ud800é") == (
        r"a\x1b[2J\u202e\n\t\x85\u200f\ud800é"
    )
    assert visible("a\nb\x07", "\n") == "a\nb\\x07"


@given(st.text(st.characters()))
def test_everything_is_printable_and_stays_so(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)
