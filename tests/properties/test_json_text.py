"""Our reading and writing of JSON against the standard library's."""

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.contract.json_text import (
    Pairs,
    TrailingTextError,
    encode_json,
    encode_line,
    parse_json,
    plain,
)
from fairlead.errors import InputError

# Drawn from a short list: building the table of all characters takes seconds.
TEXTS = st.text(
    st.sampled_from("aZ_0 \t\n\0\x1f\x7f\"'\\/\u00e9\u2028\ufeff\U0001f6a2\ud800\udfff")
)
UNICODE = st.text(st.sampled_from('a0-.e[]{}:,"\\ \n\t\0\x1f\u00e9\u00a0\u2028\U0001f6a2'))
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(TEXTS, inner)),
    max_leaves=30,
)
FRAGMENTS = st.lists(
    st.sampled_from(
        [*'{}[]:,"\\ \n\t\0', "null", "true", "1", "-", "0.5", "1e9", "NaN", "Infinity"]
    ),
    max_size=12,
).map("".join)


def refuse(name: str) -> float:
    raise ValueError(name)


@given(VALUES)
@settings(max_examples=examples(300))
def test_what_the_standard_library_writes_reads_the_same(value: Any) -> None:
    text = json.dumps(value)

    assert plain(parse_json(text.encode())) == json.loads(text)


@given(VALUES, st.booleans(), st.sampled_from([0, 2]))
@settings(max_examples=examples(300))
def test_what_we_write_the_standard_library_reads_the_same(
    value: Any, ascii_only: bool, indent: int
) -> None:
    text = encode_json(value, ascii_only=ascii_only, indent=indent)

    # A pair of lone surrogates is one character once it has been through JSON.
    assert json.loads(text) == json.loads(json.dumps(value, ensure_ascii=ascii_only))


@given(st.one_of(FRAGMENTS, UNICODE))
@settings(max_examples=examples(500))
@example('{"a":1,"a":2}')
@example("[NaN]")
@example("-Infinity")
@example('"\\ud800"')
@example("\u00a01")
@example("1.")
@example("01")
def test_text_is_refused_exactly_when_the_standard_library_refuses_it(text: str) -> None:
    try:
        expected = json.loads(text, object_pairs_hook=Pairs, parse_constant=refuse)
    except ValueError:
        with pytest.raises(InputError):
            parse_json(text.encode())
    else:
        assert parse_json(text.encode()) == expected


@given(st.binary(max_size=60), st.sampled_from(["strict", "surrogateescape"]))
@settings(max_examples=examples(300))
def test_no_bytes_raise_anything_but_an_input_error(text: bytes, errors: str) -> None:
    with contextlib.suppress(InputError):
        parse_json(text, encoding_errors=errors)


def test_duplicate_names_are_kept_in_order() -> None:
    assert parse_json(b'{"a": 1, "a": {"b": 2}}') == Pairs([("a", 1), ("a", Pairs([("b", 2)]))])


@pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
def test_a_hundred_thousand_brackets_are_an_input_error(bracket: bytes) -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        parse_json(bracket * 100_000)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_hundred_levels_are_read_and_one_more_is_an_input_error(
    opening: str, closing: str
) -> None:
    deep = opening * 100 + "1" + closing * 100

    assert json.dumps(plain(parse_json(deep.encode()))) == deep.replace(":", ": ")
    with pytest.raises(InputError, match="nested too deeply, more than 100 levels"):
        parse_json(f"{opening}{deep}{closing}".encode())


def test_many_brackets_beside_each_other_are_no_levels() -> None:
    assert parse_json(b"[" + b"[]," * 5000 + b"{}]") == [*([[]] * 5000), Pairs()]


def test_numbers_beyond_a_float_are_infinite_and_stay_so() -> None:
    numbers = parse_json(b"[1e999, -1e999, " + b"9" * 10_000 + b", -" + b"9" * 10_000 + b"]")

    assert numbers == [math.inf, -math.inf, math.inf, -math.inf]
    assert encode_json(numbers) == "[1e999,-1e999,1e999,-1e999]"


def test_an_integer_of_thousands_of_digits_is_exact() -> None:
    assert parse_json(b"9" * 4_300) == 10**4_300 - 1


def test_text_behind_the_value_is_refused_and_the_value_offered() -> None:
    with pytest.raises(TrailingTextError) as trailing:
        parse_json(b'{"a": 1} x')

    assert trailing.value.value == Pairs([("a", 1)])


def test_bytes_that_are_not_utf8_are_refused_or_escaped() -> None:
    with pytest.raises(InputError, match="not UTF-8 at byte 1"):
        parse_json(b'"\xff"')

    assert parse_json(b'"\xff"', encoding_errors="surrogateescape") == "\udcff"


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_json(b"\xef\xbb\xbf[1]") == [1]


@pytest.mark.parametrize("value", [math.nan, b"x", {1, 2}])
def test_what_has_no_json_form_is_not_written(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        encode_json(value)


def test_pairs_are_written_as_an_object_with_its_duplicates() -> None:
    assert encode_json(Pairs([("a", 1), ("a", [])])) == '{"a":1,"a":[]}'


@given(VALUES)
@settings(max_examples=examples(300))
@example({"far": [math.inf, -math.inf], "flag": True, "pair": ("a", 1)})
def test_a_line_is_what_our_own_encoder_writes(value: Any) -> None:
    assert encode_line(value) == encode_json(value)


@pytest.mark.parametrize("value", [b"bytes", {"deep": [object()]}, math.nan])
def test_a_line_of_what_has_no_json_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        encode_line(value)
