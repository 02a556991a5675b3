"""What a pre-rendered bootstrap command assigns."""

import gzip
import json
import time

import pytest

from fairlead.contract.nbc_command import environment_of_nbc_command
from shared_cases import shared_case


def test_every_command_assigns_what_the_published_controller_read() -> None:
    with gzip.open(shared_case("nbc-env.jsonl.gz"), "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]

    assert len(cases) == 150
    for case in cases:
        assert environment_of_nbc_command(case["text"]) == case["env"]


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("A=1 B=2;C=3\nD=4\tE=5", {"A": "1", "B": "2", "C": "3", "D": "4", "E": "5"}),
        ("A=\"x y\"z'p q'", {"A": "x yzp q"}),
        ("A='it'\"s\"", {"A": "its"}),
        ('A="open end', {"A": "open end"}),
        ("A=1 A=2", {"A": "2"}),
        ("a=1 1B=2 --C=3 export D=4", {"D": "4"}),
        ("A=b1X=2", {"A": "b1", "X": "2"}),
        ("A=12=3", {"A": "12=3"}),
        ("A=low=3", {"A": "low=3"}),
        ("A==", {"A": "="}),
        ("A=\r\nB=2", {"A": "\r", "B": "2"}),
        ('/bin/bash -c "Z=inner Y=2"', {}),
        ("A=\udcffx B=\u00e9", {"A": "\udcffx", "B": "\u00e9"}),
        ("A", {}),
        ("", {}),
    ],
)
def test_the_rules_of_an_assignment(text: str, environment: dict[str, str]) -> None:
    assert environment_of_nbc_command(text) == environment


@pytest.mark.parametrize("text", ["A=" + "B" * 500_000, "A" * 500_000, 'A="' * 200_000])
def test_a_hostile_command_takes_linear_time(text: str) -> None:
    start = time.process_time()

    environment_of_nbc_command(text)

    assert time.process_time() - start < 5
