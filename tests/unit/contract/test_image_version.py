"""Bases are text, the gate compares numbers."""

import pytest

from fairlead.contract.image_version import base_of, is_version, may_upgrade


@pytest.mark.parametrize(
    ("version", "base"),
    [
        ("202604.01.0", "202604.01"),
        (" 202604.01.0\n", "202604.01"),
        ("202604.1.0", "202604.1"),
        ("202604.01.0.1", "202604.01"),
        ("202604.01.x", "202604.01"),
        ("v202604.01.0", "v202604.01"),
        ("202604.01.", None),
        ("202604.01", None),
        ("202604..0", None),
        (".01.0", None),
        ("..", None),
        ("dev", None),
        ("", None),
    ],
)
def test_the_base_is_the_first_two_of_three_parts_as_written(
    version: str, base: str | None
) -> None:
    assert base_of(version) == base


@pytest.mark.parametrize(
    ("current", "candidate", "upgrade"),
    [
        ("202604.01.0", "202604.01.3", True),
        ("202604.01.9", "202604.01.10", True),
        ("202604.01.0", "202604.1.3", True),
        ("202604.01.2", "202604.01.007", True),
        (" 202604.01.0 ", "202604.01.1", True),
        ("202604.01.0", "202604.01.18446744073709551615", True),
        ("202604.01.0", "202604.01.18446744073709551616", False),
        ("202604.01.3", "202604.01.3", False),
        ("202604.01.3", "202604.01.0", False),
        ("202604.01.0", "202605.30.9", False),
        ("202604.01.0", "202604.02.1", False),
        ("dev", "202604.01.3", False),
        ("202604.01.0", "", False),
        ("202604.01.0", "202604.01.1-rc1", False),
        ("202604.01.0", "202604.01.1+b", False),
        ("202604.01.0.1", "202604.01.3", False),
        ("v202604.01.0", "202604.01.3", False),
        ("202604.01", "202604.01.3", False),
        ("202604.01.0", "202604.01. 3", False),
        ("202604.01.0", "202604.01.\u0663", False),
        ("202604.01.0", "202604.01.\u00b2", False),
        ("202604.01.0", "202604.01." + "9" * 5000, False),
    ],
)
def test_only_a_higher_patch_of_the_same_base_may_replace(
    current: str, candidate: str, upgrade: bool
) -> None:
    assert may_upgrade(current, candidate) is upgrade


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("202604.01.0", True),
        (" 202604.01.10\r", True),
        ("202604.01", False),
        ("202604.01.0.1", False),
        ("202604.01.0-rc1", False),
        ("v202604.01.0", False),
        ("dev", False),
        ("", False),
    ],
)
def test_a_version_is_three_numbers_and_nothing_else(text: str, *, expected: bool) -> None:
    assert is_version(text) is expected
