"""A policy that was worked out before is the one that a pass would work out again."""

from typing import Any

import pytest

from fairlead.controller import revise
from fairlead.errors import InputError
from fairlead.inputs.leaf import Unusable
from fairlead.inputs.parse import parse_node_pool
from fairlead.rollout.policy import policy_of
from fairlead.rollout.window import utc_only
from fairlead.zones import find_zone
from pool_documents import pool_document

NIGHT = {"windows": [{"start": "22:00", "duration": "1h", "zone": "Europe/Vaduz"}]}

FLEET: tuple[dict[str, Any], ...] = (
    {"replicas": 1},
    {"replicas": 2, "labels": {"team": "a"}},
    {"replicas": 2, "labels": {"team": "b"}},
    {"autoRepair": True, "maxUnhealthy": "40%"},
    {"rollout": {"soak": "5m", "canary": [1, "10%"]}},
    {"timeouts": {"drain": "10m"}, "management": {"maxSurge": 2}},
)


@pytest.mark.parametrize("spec", FLEET)
def test_a_policy_is_the_same_however_often_it_is_asked_for(spec: dict[str, Any]) -> None:
    settings = parse_node_pool(pool_document(**spec)).settings
    assert not isinstance(settings, Unusable)
    expected = policy_of(settings, find_zone)
    assert [revise._policy_from(settings, find_zone) for _ in range(3)] == [expected] * 3


def test_a_time_zone_is_looked_up_for_every_pass() -> None:
    settings = parse_node_pool(pool_document(rollout=NIGHT)).settings
    assert not isinstance(settings, Unusable)
    assert revise._policy_from(settings, find_zone).windows[0].zone == find_zone("Europe/Vaduz")
    with pytest.raises(InputError, match="is no time zone"):
        revise._policy_from(settings, utc_only)
