"""TOML that a reader takes back to the same values, and a path for what TOML cannot say."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contract.toml_text import render_toml
from fairlead.errors import InputError

TEXT = st.text(st.characters(codec="utf-8"))
SCALARS = (
    TEXT
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=True)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_any_document_reads_back_as_it_was(document: dict[str, object]) -> None:
    assert tomllib.loads(render_toml(document)) == document


def test_settings_come_before_tables_and_names_are_quoted_where_they_must_be() -> None:
    document = {
        "plugins": {"io.containerd.grpc.v1.cri": {"registry": {"config_path": "/a"}, "x-y_1": 1}},
        "version": 2,
    }

    assert render_toml(document) == (
        'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nx-y_1 = 1\n'
        '[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/a"\n'
    )


@pytest.mark.parametrize("value", [None, 2**63, -(2**63) - 1, b"bytes", "\ud800"])
def test_what_toml_cannot_say_is_refused_by_its_path(value: object) -> None:
    with pytest.raises(InputError) as caught:
        render_toml({"a": {"b.c": [value]}})
    assert caught.value.field == 'a."b.c"'


def test_a_name_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(InputError, match="surrogate"):
        render_toml({"\ud800": 1})
