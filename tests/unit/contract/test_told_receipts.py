"""What a machine says it ignored is hostile input like all that it says."""

import json
from typing import Any

import pytest

from fairlead.contract.boot_report import ignored_in, parse_report


def report_with(receipt: Any) -> Any:
    fields = {"run": "1", "agent": "a", "layout": "aks", "started": "now"}
    return parse_report(json.dumps({**fields, "facts": {"receipt": receipt}}).encode())


def test_the_names_that_a_receipt_lists_are_read() -> None:
    paths = ["fairlead[imageBase]", "+3 more"]

    assert ignored_in(report_with({"ignored": {"count": 4, "paths": paths}})) == tuple(paths)


@pytest.mark.parametrize(
    "receipt",
    [None, 7, "x", [], {}, {"ignored": 7}, {"ignored": {}}, {"ignored": {"paths": "a"}},
     {"ignored": {"paths": [7, None, {}, ["a"], "\x1b[31m", "a\nb"]}}],
)  # fmt: skip
def test_what_is_no_name_is_left_out(receipt: Any) -> None:
    assert ignored_in(report_with(receipt)) == ()


def test_a_list_without_end_is_cut() -> None:
    found = ignored_in(report_with({"ignored": {"paths": ["x" * 10_000] * 10_000}}))

    assert (len(found), {len(name) for name in found}) == (64, {200})
