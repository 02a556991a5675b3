"""A machine is called a node if its kubelet stayed up and the cluster does not say otherwise."""

import pytest

from fairlead.agent.https_fetch import Request
from fairlead.sim.host import SimHost
from unit.agent.steps.machine import TOKEN, Machine, make_config, run_all

SERVER = "https://api.example.test:443"
ROTATED = "/var/lib/kubelet/pki/kubelet-client-current.pem"


def cluster_that_knows(machine: Machine, token: str) -> None:
    """An API server that anybody may ask whether it is there, and that knows one token."""
    machine.statuses[f"{SERVER}/readyz"] = 200

    def answer(_host: SimHost, request: Request) -> tuple[int, bytes]:
        return (200, b"{}") if request.token == token else (401, b"")

    machine.servers[f"{SERVER}/version"] = answer


@pytest.mark.parametrize("died_after_s", [0.1, 1.5, 2.9])
@pytest.mark.parametrize("answers", [True, False])
def test_a_kubelet_that_was_healthy_once_and_then_dies_makes_no_node(
    died_after_s: float, answers: bool
) -> None:
    machine = Machine.fresh()
    machine.dying["kubelet.service"] = died_after_s
    machine.journal["kubelet.service"] = b"runtime went away\n"
    if answers:
        machine.put(ROTATED, b"pair", 0o600)
        machine.statuses = {f"{SERVER}/readyz": 200, f"{SERVER}/api/v1/nodes/node-1": 200}

    result = run_all(machine, make_config())

    assert result.stopped_by == "wait-for-node"
    assert str(result.error) == (
        "kubelet.service died; systemd says activating (auto-restart), exit-code 1"
    )
    assert getattr(result.error, "said", "") == "runtime went away\n"
    assert result.runs[-1].duration_ns < 4e9


def test_a_token_that_the_cluster_does_not_know_makes_no_node() -> None:
    machine = Machine.fresh()
    cluster_that_knows(machine, "another.0123456789abcdef")
    machine.journal["kubelet.service"] = b"Unauthorized\n"

    result = run_all(machine, make_config())

    assert result.stopped_by == "wait-for-node"
    assert str(result.error) == (
        "https://api.example.test:443 does not know the bootstrap token of this machine "
        "(status 401), 30 s after its kubelet was started"
    )
    assert getattr(result.error, "said", "") == "Unauthorized\n"
    assert 30e9 <= result.runs[-1].duration_ns < 32e9


def test_a_certificate_that_the_cluster_does_not_know_makes_no_node() -> None:
    machine = Machine.fresh()
    machine.put(ROTATED, b"pair", 0o600)
    machine.statuses = {
        f"{SERVER}/readyz": 200,
        f"{SERVER}/api/v1/nodes/node-1": 401,
        f"{SERVER}/version": 401,
    }

    result = run_all(machine, make_config())

    assert "does not know the client certificate" in str(result.error)


def test_a_request_that_waits_for_approval_is_a_node_that_is_not_confirmed() -> None:
    machine = Machine.fresh()
    cluster_that_knows(machine, TOKEN)

    result = run_all(machine, make_config())

    assert result.error is None
    assert result.runs[-1].outcome.unconfirmed == (
        "https://api.example.test:443 answers but does not show node node-1 after 30 s; "
        "its certificate request has no answer"
    )


def test_a_node_that_the_cluster_shows_is_confirmed_once_its_kubelet_is_steady() -> None:
    machine = Machine.fresh()
    machine.put(ROTATED, b"pair", 0o600)
    machine.statuses = {f"{SERVER}/readyz": 200, f"{SERVER}/api/v1/nodes/node-1": 200}

    first = run_all(machine, make_config()).runs[-1]
    second = run_all(machine, make_config()).runs[-1]

    assert (first.outcome.unconfirmed, second.outcome.unconfirmed) == ("", "")
    assert 2.9e9 <= first.duration_ns < 3.1e9
    # It has been up for long enough.
    assert second.duration_ns < 0.1e9


def test_a_name_that_no_node_can_have_is_not_asked_for() -> None:
    machine = Machine.fresh()
    cluster_that_knows(machine, TOKEN)
    machine.put("/proc/sys/kernel/hostname", b"not_a_node_name\n")

    result = run_all(machine, make_config())

    assert result.error is None
    assert result.runs[-1].outcome.unconfirmed == (
        "the name of this machine is not a node name (see hostnamectl)"
    )
