"""One JSON value, one protobuf scalar."""

import pytest

from fairlead.contract.json_text import parse_json
from fairlead.contract.proto_scalar import scalar_of
from fairlead.errors import InputError


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int32", "1.0", 1),
        ("int32", "1e3", 1000),
        ("int32", '"1e3"', 1000),
        ("int32", '"-5"', -5),
        ("int32", "-2147483648", -2147483648),
        ("int64", '"9223372036854775807"', 9223372036854775807),
        ("uint32", "4294967295", 4294967295),
        ("uint64", '"18446744073709551615"', 18446744073709551615),
        ("double", "1", 1.0),
        ("double", '"1.5"', 1.5),
        ("double", '"Infinity"', float("inf")),
        ("double", '"-Infinity"', float("-inf")),
        ("bool", "false", False),
        ("string", '"1"', "1"),
        ("bytes", '"+/8="', b"\xfb\xff"),
        ("bytes", '"-_8"', b"\xfb\xff"),
        ("bytes", '""', b""),
    ],
)
def test_a_value_of_the_right_kind_is_read(kind: str, text: str, value: object) -> None:
    found = scalar_of(kind, parse_json(text.encode()))

    assert found == value
    assert type(found) is type(value)


def test_nan_is_read_from_text() -> None:
    assert str(scalar_of("double", "NaN")) == "nan"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int32", "2147483648"),
        ("int32", "1.5"),
        ("int32", "1e400"),
        ("int32", "true"),
        ("int32", "null"),
        ("int32", '" 1"'),
        ("int32", '"1 "'),
        ("int32", '"1 2"'),
        ("int32", '"01"'),
        ("int32", '"+1"'),
        ("int32", '"0x10"'),
        ("int32", '"\u0661"'),
        ("int32", '""'),
        ("int32", '"-"'),
        ("uint32", "-1"),
        ("double", "1e400"),
        ("double", '"1e400"'),
        ("double", '"inf"'),
        ("double", '"nan"'),
        ("double", "true"),
        ("double", "1" + "0" * 400),
        ("bool", "0"),
        ("bool", '"true"'),
        ("string", "1"),
        ("string", "null"),
        ("bytes", '"a"'),
        ("bytes", '"a b="'),
        ("bytes", '"\u00e9\u00e9\u00e9\u00e9"'),
    ],
)
def test_a_value_of_another_kind_is_refused(kind: str, text: str) -> None:
    with pytest.raises(InputError):
        scalar_of(kind, parse_json(text.encode()))


def test_a_refusal_never_tells_the_value() -> None:
    with pytest.raises(InputError) as refused:
        scalar_of("bool", "hunter2-hunter2")

    assert str(refused.value) == "found text, expected true or false"
