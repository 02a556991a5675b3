"""What a MachineDeployment is told of a template."""

from datetime import timedelta

from fairlead.kube.cluster_api.deployment import deployment_spec
from fairlead.rollout.machines import NodeSettings, Pacing, Template

PLACE = {"cluster": "fleet", "infrastructure": {"kind": "TestMachineTemplate", "name": "small"}}


def deletion_of(settings: NodeSettings) -> object:
    template = Template(
        revision="0123", version="1.34.2", machine_template={}, replicas=3, settings=settings
    )
    return deployment_spec("team/workers", template, PLACE)["template"]["spec"].get("deletion")


def test_limits_of_draining_and_of_detaching_volumes_stand_at_the_machines() -> None:
    both = NodeSettings(drain_timeout=timedelta(minutes=10), detach_timeout=timedelta(minutes=5))

    assert deletion_of(both) == {
        "nodeDrainTimeoutSeconds": 600,
        "nodeVolumeDetachTimeoutSeconds": 300,
    }
    assert deletion_of(NodeSettings(detach_timeout=timedelta(minutes=5))) == {
        "nodeVolumeDetachTimeoutSeconds": 300
    }


def test_without_a_limit_none_is_told() -> None:
    assert deletion_of(NodeSettings()) is None


def replicas_told(wanted: int, current: int | None) -> int | None:
    """How many machines a template with an autoscaler is told to have."""
    pacing = Pacing(max_surge=1, max_unavailable=0, limits=(1, 4))
    template = Template(
        revision="0123", version="1.34.2", machine_template={}, replicas=wanted, pacing=pacing
    )
    place = PLACE if current is None else {**PLACE, "replicas": current}
    told: int | None = deployment_spec("team/workers", template, place).get("replicas")
    return told


def test_an_autoscaler_says_how_many_machines_there_are() -> None:
    assert replicas_told(wanted=1, current=None) is None
    assert replicas_told(wanted=3, current=3) is None


def test_a_number_beyond_the_limits_of_an_autoscaler_is_brought_back() -> None:
    assert replicas_told(wanted=4, current=7) == 4


def test_an_autoscaled_pool_that_leaves_is_told_to_have_no_machines() -> None:
    assert replicas_told(wanted=0, current=3) == 0
