"""Inspecting somebody's user data takes little memory and time, whatever it says that it holds."""

import gzip

import pytest

from bombs import MIB, make_bombs, read_within_limits
from fairlead.userdata.inspect import inspect_user_data

# Ten seconds each, within their limit.
SLOW = {"files of ours without end", "empty lines"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in make_bombs()],
)
def test_no_bomb_takes_much_memory_or_time(name: str) -> None:
    data = make_bombs()[name]

    assert read_within_limits("fairlead.userdata.inspect", "inspect_user_data", data) == ""


@pytest.mark.parametrize(
    "name", ["gzip", "fifty parts", "fifty files of Ignition", "fifty here-documents"]
)
def test_what_was_not_read_is_told(name: str) -> None:
    sentences = [problem.sentence for problem in inspect_user_data(make_bombs()[name]).problems]

    assert (
        "it holds more than 16777216 bytes once unpacked, or 500 files; the rest was not read here"
    ) in sentences


def test_a_json_document_that_is_too_large_is_told() -> None:
    text = b'{"ignition": {"version": "3.4.0"}, "a": "' + b"a" * (7 * MIB) + b'"}'

    problems = inspect_user_data(gzip.compress(text)).problems

    assert problems[0].sentence == (
        "a JSON text of more than 6291456 bytes, of which nothing was read here"
    )
    assert problems[0].effects["22.4"] == "not judged"


def test_headers_that_do_not_end_are_no_document() -> None:
    inspection = inspect_user_data(make_bombs()["one folded header"])

    assert "unknown-document" in [problem.code for problem in inspection.problems]
