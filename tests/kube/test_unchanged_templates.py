"""What must replace no machine writes no template, for as long as it goes on."""

import os

import pytest

from fairlead.kube.resource import PLATFORM_CONFIGS
from kube.fleet import NAMESPACE, Fleet
from kube.unrest import MovedClock, Unrest

pytestmark = pytest.mark.slow

# Seconds. `.ci/run` has it go on for five minutes.
SECONDS = float(os.environ.get("FAIRLEAD_UNREST_S", "20"))


@pytest.mark.begin_with
def test_platform_changes_scaling_rotated_tokens_and_restarts_write_no_template(
    unmanned: Fleet,
) -> None:
    clock = MovedClock()
    unmanned.now = clock.now
    unmanned.start_operator()
    unrest = Unrest(unmanned, clock, ["restless-1", "restless-2"])

    unrest.go_on(SECONDS)

    unmanned.admin.delete(PLATFORM_CONFIGS, "platform", NAMESPACE)
    assert unrest.written == []
    assert unrest.rounds > 0
