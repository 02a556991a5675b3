"""Where user data is looked for, in which order, and that systemd looks in the same places."""

import base64

from builders import make_disk
from fairlead.agent.early.ovf import custom_data_in
from fairlead.agent.early.places import (
    CREDENTIALS,
    DRIVES,
    SEED_FILES,
    SYSTEM_CREDENTIALS,
    Lookout,
    find_cloud_init_copy,
)
from fairlead.sim.host import SimHost
from shared_cases import REPOSITORY

UNITS = REPOSITORY / "deploy" / "node" / "units"
SEED = "/var/lib/cloud/seed/nocloud/user-data"

OVF = b"""<?xml version="1.0" encoding="utf-8"?>
<ns0:Environment xmlns:ns1="http://schemas.microsoft.com/windowsazure">
<ns1:LinuxProvisioningConfigurationSet><ns1:CustomData>%s</ns1:CustomData>
</ns1:LinuxProvisioningConfigurationSet></ns0:Environment>"""


def conditions_of(unit: str) -> list[str]:
    lines = (UNITS / unit).read_text().splitlines()
    mark = "ConditionPathExists=|"
    return [line.removeprefix(mark) for line in lines if line.startswith(mark)]


def look(host: SimHost) -> tuple[list[tuple[str, bytes]], list[str]]:
    """What was found, by place, and what was passed over."""
    refused: list[str] = []
    places = Lookout(host, refused.append).places()
    return [(place.name, place.user_data) for place in places], refused


def found(host: SimHost) -> list[tuple[str, bytes]]:
    return look(host)[0]


def test_systemd_starts_the_agent_for_every_place_and_for_no_other() -> None:
    places = [f"{SYSTEM_CREDENTIALS}/{name}" for name in CREDENTIALS]
    places += [path for _, _, path in SEED_FILES]
    places += [device for _, _, device, _ in DRIVES]

    assert conditions_of("fairlead-node-seed.service") == places


def test_a_credential_goes_before_a_seed() -> None:
    credential = "/run/credentials/@system/fairlead.user-data"
    host = SimHost(make_disk({SEED: b"seed", credential: b"credential"}))

    assert found(host) == [
        ("credential fairlead.user-data", b"credential"),
        ("NoCloud seed", b"seed"),
    ]


def test_a_units_own_credential_goes_before_the_machines() -> None:
    name = "fairlead.node-config"
    host = SimHost(make_disk({f"/own/{name}": b"own", f"{SYSTEM_CREDENTIALS}/{name}": b"system"}))
    host.environment["CREDENTIALS_DIRECTORY"] = "/own"

    assert found(host) == [("credential fairlead.node-config", b"own")]


def test_only_seeds_of_listed_sources_are_looked_at() -> None:
    azure = "/var/lib/cloud/seed/azure/ovf-env.xml"
    media = OVF % base64.b64encode(b"#cloud-config\n")
    files = {SEED: b"seed", azure: media}
    listed = {"/etc/cloud/cloud.cfg": b"datasource_list: [ NoCloud ]\n"}

    assert look(SimHost(make_disk({**files, **listed}))) == (
        [("NoCloud seed", b"seed")],
        [
            f"Azure seed {azure} is not looked at: the image does not list Azure, neither in "
            "cloud-init's datasource_list nor in DATA_SOURCES of /etc/fairlead-node/seeds.conf"
        ],
    )
    # Whoever writes to the machine's own disk is root on it: an image without a list has seeds.
    assert [name for name, _ in found(SimHost(make_disk(files)))] == ["NoCloud seed", "Azure seed"]


def test_a_drive_is_looked_at_only_where_its_source_is_listed() -> None:
    label = "/dev/disk/by-label/cidata"
    host = SimHost(make_disk({label: b"", "/dev/sr0": b""}))
    host.is_directory = False

    refused = (
        f"cidata drive {label} is not looked at: the image does not list NoCloud, neither in "
        "cloud-init's datasource_list nor in DATA_SOURCES of /etc/fairlead-node/seeds.conf"
    )
    # Every other machine has an empty drive for discs: that it is there says nothing.
    assert look(host) == ([], [refused])


def test_a_drive_that_comes_after_the_boot_is_not_looked_at() -> None:
    label = "/dev/disk/by-label/cidata"
    cloud = {"/etc/cloud/cloud.cfg": b"datasource_list: [NoCloud]\n"}
    host = SimHost(make_disk({label: b"", **cloud}))
    host.is_directory = False
    refused: list[str] = []

    assert list(Lookout(host, refused.append).places(judged=[label])) == []
    assert refused == []
    assert list(Lookout(host, refused.append).places(judged=[])) == []
    assert refused == [f"cidata drive {label} is not looked at: this boot was over when it came"]


def test_custom_data_is_taken_out_of_azures_environment_file() -> None:
    path = "/var/lib/cloud/seed/azure/ovf-env.xml"
    host = SimHost(make_disk({path: OVF % base64.b64encode(b"#cloud-config\n")}))

    assert found(host) == [("Azure seed", b"#cloud-config\n")]


def test_an_environment_file_without_custom_data_holds_none() -> None:
    assert custom_data_in(OVF % b"") is None
    assert custom_data_in(b"<a/>") is None
    assert custom_data_in(b"<ns1:CustomData>") is None
    assert custom_data_in(b"<MyCustomData>QQ==</MyCustomData>") is None
    assert custom_data_in(OVF % b"not base64!") is None


def test_cloud_inits_copy_counts_only_when_cloud_init_wrote_it_in_this_boot() -> None:
    copy = "/var/lib/cloud/instance/user-data.txt"
    before = SimHost(make_disk({copy: b"another machine's"}))
    after = SimHost(make_disk({copy: b"ours", "/run/cloud-init/.instance-id": b"i-1"}))

    assert find_cloud_init_copy(before) is None
    assert find_cloud_init_copy(after) == b"ours"
