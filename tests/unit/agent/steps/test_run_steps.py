"""The runner: order, time, and what one word of a row means when its step fails."""

import pytest

from fairlead.agent.on_failure import BOOT_ANYWAY, STOP_BOOT
from fairlead.agent.steps.run import run_steps
from fairlead.agent.steps.step import Step, StepOutcome
from fairlead.agent.steps.table import NODE_STEPS
from fairlead.contract.node_config import NodeConfig
from fairlead.errors import InputError
from fairlead.sim.host import SimHost

EMPTY = NodeConfig({})


def works(host: object, _config: NodeConfig) -> StepOutcome:
    assert isinstance(host, SimHost)
    host.sleep(2.0)
    return StepOutcome(["wrote /a"], [], "a note")


def is_refused(_host: object, _config: NodeConfig) -> StepOutcome:
    raise InputError("not a number", field="a.b")


def meets_a_full_disk(_host: object, _config: NodeConfig) -> StepOutcome:
    raise OSError(28, "No space left on device", "/a")


def has_a_defect(_host: object, _config: NodeConfig) -> StepOutcome:
    raise KeyError("ours")


def test_each_step_is_timed_and_told_in_order() -> None:
    told: list[tuple[str, int, str, str]] = []

    result = run_steps(
        (Step("one", works, STOP_BOOT), Step("two", works, BOOT_ANYWAY)),
        SimHost(),
        EMPTY,
        lambda name, _start, duration, word, cause: told.append(
            (name, duration // 1_000_000, word, cause)
        ),
    )

    assert told == [("one", 2000, "done", "a note"), ("two", 2000, "done", "a note")]
    assert [run.outcome.changed for run in result.runs] == [["wrote /a"], ["wrote /a"]]
    assert (result.error, result.stopped_by) == (None, "")


def test_a_boot_goes_on_without_a_step_that_it_does_not_need() -> None:
    steps = (Step("tuning", meets_a_full_disk, BOOT_ANYWAY), Step("rest", works, STOP_BOOT))

    result = run_steps(steps, SimHost(), EMPTY, lambda *_: None)

    assert [(run.name, run.word, run.cause) for run in result.runs] == [
        ("tuning", "skipped", "[Errno 28] No space left on device: '/a'"),
        ("rest", "done", "a note"),
    ]
    assert result.error is None


def test_a_needed_step_that_fails_stops_the_rest() -> None:
    steps = (Step("config", is_refused, STOP_BOOT), Step("rest", works, STOP_BOOT))

    result = run_steps(steps, SimHost(), EMPTY, lambda *_: None)

    assert [(run.name, run.word, run.cause) for run in result.runs] == [
        ("config", "stopped", "a.b: not a number")
    ]
    assert result.stopped_by == "config"
    assert isinstance(result.error, InputError)


def test_our_own_defects_are_not_a_steps_failure() -> None:
    with pytest.raises(KeyError):
        run_steps((Step("x", has_a_defect, BOOT_ANYWAY),), SimHost(), EMPTY, lambda *_: None)


def test_the_order_of_the_steps_and_what_each_may_stop() -> None:
    assert [(step.name, step.on_failure) for step in NODE_STEPS] == [
        ("find-programs", "stop-boot"),
        ("pool-files", "stop-boot"),
        ("ssh-keys", "boot-anyway"),
        ("trust-certificates", "stop-boot"),
        ("proxy-environment", "stop-boot"),
        ("kernel-settings", "boot-anyway"),
        ("swap", "boot-anyway"),
        ("huge-pages", "boot-anyway"),
        ("ulimits", "boot-anyway"),
        ("containerd-config", "stop-boot"),
        ("registry-mirrors", "stop-boot"),
        ("pull-secret", "stop-boot"),
        ("kubelet-config", "stop-boot"),
        ("kubelet-flags", "stop-boot"),
        ("bootstrap-kubeconfig", "stop-boot"),
        ("systemd-units", "stop-boot"),
        ("start-containerd", "stop-boot"),
        ("wait-for-machine", "boot-anyway"),
        ("start-kubelet", "stop-boot"),
        ("wait-for-node", "stop-boot"),
    ]
