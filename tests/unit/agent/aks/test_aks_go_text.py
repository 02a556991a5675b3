"""Numbers and versions as Go, and the semver library that upstream uses, read and write them."""

import pytest

from fairlead.agent.aks.go_text import render_real
from fairlead.agent.aks.semantic_version import is_at_least


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (10.0, "10"),
        (100.25, "100.25"),
        (-2.5, "-2.5"),
        (0.1, "0.1"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.234e-7, "1.234e-07"),
        (100000.0, "100000"),
        (999999.0, "999999"),
        (1000000.0, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (123456789.0, "1.23456789e+08"),
        (1e21, "1e+21"),
        (1.5e22, "1.5e+22"),
        (1e15 + 0.5, "1.0000000000000005e+15"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_a_real_number_is_written_as_go_writes_it(value: float, text: str) -> None:
    assert render_real(value) == text


@pytest.mark.parametrize(
    "version",
    [
        "1.34.0",
        "v1.34.0",
        "1.34",
        "2",
        "v2",
        "1.34.1-alpha",
        "1.34.0+meta",
        "1.34.1-0",
        "1.34.1-00a",
        "1.35-alpha",
        "2-rc",
        "1.35.1-a+b-c.d",
        "1.35.1--",
        "1.35.1+01",
        "01.34.0",
        "18446744073709551615.0.0",
    ],
)
def test_a_later_version_is_at_least_the_release(version: str) -> None:
    assert is_at_least(version, (1, 34, 0))


@pytest.mark.parametrize(
    "version",
    [
        "1.33.9",
        "1",
        "1.34.0-alpha.1",
        "1.34-alpha",
        "",
        "abc",
        "vv1.34.0",
        "V1.34.0",
        "1.34.",
        "1..0",
        "1.34.0.0",
        "1.34.0-",
        "1.34.0+",
        "1.35.0+a_b",
        "1.35.1-01",
        "1.35.1-a..b",
        "1.35.1-\u00e9",
        "\u0663.0.0",
        " 1.35.0",
        "1.35.0\n",
        "-1.0.0",
        "18446744073709551616.0.0",
        pytest.param("9" * 5000, id="five thousand digits"),
    ],
)
def test_an_earlier_or_broken_version_is_not(version: str) -> None:
    assert not is_at_least(version, (1, 34, 0))
