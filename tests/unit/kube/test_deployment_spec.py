"""What a MachineDeployment is told of a template."""

from datetime import timedelta

from fairlead.kube.cluster_api.deployment import deployment_spec
from fairlead.rollout.machines import NodeSettings, Template

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
