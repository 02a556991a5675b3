"""Values of leaves in tables, as their owners write them."""

from typing import Any

import pytest

from fairlead.cli.screens.diff import Difference, difference_blocks
from fairlead.cli.screens.show import draw_plain
from fairlead.proposal.leaves import pool_differences
from pool_documents import pool_document


def shown(before: dict[str, Any], after: dict[str, Any]) -> str:
    changed = pool_differences(pool_document(**before), pool_document(**after))
    return draw_plain(difference_blocks([Difference("NodePool/workers", changed)]))


@pytest.mark.parametrize(
    ("written", "told"),
    [("5s", "5s"), ("90s", "90s"), ("10m", "10m"), ("120s", "2m"), ("48h", "2d"), ("0s", "0s")],
)
def test_a_duration_is_shown_with_its_unit(written: str, told: str) -> None:
    text = shown({"timeouts": {"drain": "25m"}}, {"timeouts": {"drain": written}})

    row = next(line for line in text.splitlines() if "timeouts.drain" in line)
    assert row.split()[-2:] == ["25m", told]


def test_the_duration_of_a_window_is_shown_with_its_unit() -> None:
    window = {"start": "22:00", "duration": "4h"}

    assert '"duration":"4h"' in shown({}, {"rollout": {"windows": [window]}}).replace(" ", "")


def test_a_number_that_is_no_duration_stays_one() -> None:
    row = shown({"replicas": 3}, {"replicas": 60}).splitlines()[-1]

    assert row.split()[-2:] == ["3", "60"]
