"""Values that mean the same have the same bytes."""

import pytest

from fairlead.contract.canonical import canonical_bytes, digest_of
from fairlead.errors import InputError


def test_names_are_sorted_and_nothing_is_padded() -> None:
    assert (
        canonical_bytes({"b": [1, 2.5], "a": {"é": None}})
        == '{"a":{"é":null},"b":[1,2.5]}'.encode()
    )


def test_a_number_without_a_fraction_is_an_integer() -> None:
    assert canonical_bytes([1.0, -0.0, 1e20]) == b"[1,0,1e+20]"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: "one"}, {"a": b"bytes"}])
def test_what_has_no_single_spelling_is_refused(value: object) -> None:
    with pytest.raises(InputError):
        canonical_bytes(value)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InputError, match="not Unicode"):
        canonical_bytes("\ud800")


@pytest.mark.parametrize(
    "value", [{"a": {"b": ["x", {"c": "\ud800"}]}}, {"a": {"b": [1, {"c": {"\udfff": 1}}]}}]
)
def test_a_lone_surrogate_is_named_by_its_path(value: object) -> None:
    with pytest.raises(InputError) as refused:
        canonical_bytes(value)

    assert refused.value.field == "a.b[1].c"


def test_a_problem_is_named_by_its_path() -> None:
    with pytest.raises(
        InputError, match=r"^spec\.sizes\[1\]: found a bytes, expected a JSON value$"
    ):
        canonical_bytes({"spec": {"sizes": [1, b""]}})


def test_equal_values_of_two_purposes_have_different_digests() -> None:
    assert digest_of("a", {}) != digest_of("b", {})


def test_digests_are_pinned() -> None:
    assert (
        digest_of("fairlead/test", {"a": 1})
        == "02d1f8804b7a8a3cfecb71cc4557ff36c96be37b430712b4073f194115c2c089"
    )
