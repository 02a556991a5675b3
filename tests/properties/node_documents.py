"""Node configs drawn from the contract, as another implementation might write them."""

from typing import Any

from hypothesis import strategies as st

from fairlead.contract.node_parse import json_name_of
from fairlead.contract.node_schema import ENUMS, MESSAGES, TOP_MESSAGE

TEXTS = st.one_of(
    st.sampled_from(
        ["", "v1", "a b", "$HOME", 'quote"d', "line1\nline2", "\u00fcn\u00ef \U0001f6a2"]
    ),
    st.text(st.sampled_from('aZ_0 .:/=\0\n"\\\u00e9\u2028\U0001f6a2'), max_size=12),
)
INTEGERS = st.integers(-(2**31), 2**31 - 1)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "bool": st.booleans(),
    "int32": st.one_of(INTEGERS, INTEGERS.map(str), INTEGERS.map(float), st.just(0)),
    "double": st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        INTEGERS,
        st.sampled_from(["NaN", "Infinity", "-Infinity", "1.5", "0"]),
    ),
}


def _value_of(draw: st.DrawFn, kind: str) -> Any:
    if kind in MESSAGES:
        return _message_of(draw, kind)
    if kind in ENUMS:
        names = st.sampled_from(sorted(ENUMS[kind]))
        numbers = st.sampled_from(sorted(ENUMS[kind].values()))
        return draw(st.one_of(names, numbers, st.sampled_from([77, "NAME_OF_2031"])))
    return draw(SCALARS[kind])


def _field_of(draw: st.DrawFn, kind: str, label: str) -> Any:
    if draw(st.integers(0, 19)) == 0:
        return None
    if label == "repeated":
        return [_value_of(draw, kind) for _ in range(draw(st.integers(0, 3)))]
    if label == "map":
        keys = draw(st.lists(TEXTS, max_size=3, unique=True))
        return {key: _value_of(draw, kind) for key in keys}
    return _value_of(draw, kind)


def _message_of(draw: st.DrawFn, message: str) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(list(MESSAGES[message])), max_size=6, unique=True))
    document: dict[str, Any] = {}
    for name in names:
        _, kind, label = MESSAGES[message][name]
        spelled = json_name_of(name) if draw(st.booleans()) else name
        document[spelled] = _field_of(draw, kind, label)
    if draw(st.integers(0, 9)) == 0:
        document["brand_new_field"] = draw(st.sampled_from([1, {"deep": [None]}, "x"]))
    return document


@st.composite
def node_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Return a valid document: both spellings of names, enums by name or number, nulls."""
    return _message_of(draw, TOP_MESSAGE)
