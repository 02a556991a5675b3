"""Which block devices may bring a document, as the kernel describes them."""

from pathlib import Path

import pytest

from fairlead.agent.early.fit_drive import number_of, why_unfit
from fairlead.agent.host import RealHost

ATA = "pci0000:00/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0/block/sr0"
VMBUS = "LNXSYSTM:00/VMBUS:00/f8b3/host0/target0:0:0/0:0:0:2/block/sr0"
USB_DISC = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sr1"
USB_STICK = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb"
ISCSI = "platform/host3/session1/target3:0:0/3:0:0:1/block/sdc"
ISCSI_DISC = "platform/host3/session1/target3:0:0/3:0:0:1/block/sr2"
VIRTIO = "pci0000:00/0000:00:05.0/virtio2/block/vdb"
NVME = "pci0000:00/0000:00:1e.0/nvme/nvme1/nvme1n1"

CONFIG_DRIVE = {"removable": "0", "size": "131072"}  # 64 MiB in sectors
VOLUME = {"removable": "0", "size": "2097152"}  # 1 GiB
DISC = {"removable": "1", "size": "744", "device/type": "5"}


def make_device(root: Path, path: str, attributes: dict[str, str], number: str = "8:0") -> RealHost:
    """A root whose kernel knows one device."""
    device = root / "sys/devices" / path
    for name, value in attributes.items():
        (device / name).parent.mkdir(parents=True, exist_ok=True)
        (device / name).write_text(f"{value}\n")
    device.mkdir(parents=True, exist_ok=True)
    (root / "sys/dev/block").mkdir(parents=True, exist_ok=True)
    (root / "sys/dev/block" / number).symlink_to(f"../../devices/{path}")
    return RealHost(str(root))


@pytest.mark.parametrize("path", [ATA, VMBUS])
def test_an_optical_drive_of_the_machine_is_fit(tmp_path: Path, path: str) -> None:
    host = make_device(tmp_path, path, DISC)

    assert why_unfit(host, "8:0", "optical") == ""
    assert why_unfit(host, "8:0", "disk") == ""


@pytest.mark.parametrize("drives", ["optical", "disk"])
@pytest.mark.parametrize(
    ("path", "attributes", "why"),
    [
        ("virtual/block/loop0", CONFIG_DRIVE, "loop0 is a loop device or another"),
        ("virtual/block/dm-0", CONFIG_DRIVE, "dm-0 is a loop device or another"),
        ("virtual/block/nbd0", CONFIG_DRIVE, "nbd0 is a loop device or another"),
        ("virtual/nvme-fabrics/ctl/nvme2/nvme2n1", CONFIG_DRIVE, "no hardware stands behind"),
        ("rbd/0/block/rbd0", CONFIG_DRIVE, "rbd0 is reached over a network"),
        (USB_DISC, DISC, "sr1 is on USB"),
        (USB_STICK, {"removable": "1", "size": "2048"}, "sdb is on USB"),
        (ISCSI, CONFIG_DRIVE, "sdc is reached over a network"),
        (ISCSI_DISC, DISC, "sr2 is reached over a network"),
    ],
)
def test_what_is_not_of_the_machine_itself_is_never_fit(
    tmp_path: Path, path: str, attributes: dict[str, str], why: str, drives: str
) -> None:
    host = make_device(tmp_path, path, attributes)

    assert why in why_unfit(host, "8:0", drives)


@pytest.mark.parametrize("path", [VIRTIO, NVME])
@pytest.mark.parametrize("attributes", [CONFIG_DRIVE, VOLUME])
def test_a_raw_volume_of_a_pod_is_not_fit(
    tmp_path: Path, path: str, attributes: dict[str, str]
) -> None:
    host = make_device(tmp_path, path, attributes)
    name = path.rpartition("/")[2]

    assert why_unfit(host, "8:0", "optical") == (
        f"{name} is a disk, as volumes of pods are; "
        "DRIVES=disk in /etc/fairlead-node/seeds.conf allows small ones"
    )


def test_an_image_may_allow_small_disks(tmp_path: Path) -> None:
    small = make_device(tmp_path / "small", VIRTIO, CONFIG_DRIVE)
    large = make_device(tmp_path / "large", VIRTIO, VOLUME)
    card = make_device(tmp_path / "card", VIRTIO, {**CONFIG_DRIVE, "removable": "1"})
    strange = make_device(tmp_path / "strange", VIRTIO, {"size": "2"})

    assert why_unfit(small, "8:0", "disk") == ""
    assert why_unfit(large, "8:0", "disk") == "vdb is larger than the 64 MiB of a config drive"
    assert why_unfit(card, "8:0", "disk") == "vdb can be taken out"
    assert why_unfit(strange, "8:0", "disk") == "vdb can be taken out"


def test_a_partition_is_as_its_disk(tmp_path: Path) -> None:
    make_device(tmp_path, VIRTIO, VOLUME)
    host = make_device(tmp_path, f"{VIRTIO}/vdb1", {"size": "2048"}, "8:1")

    assert why_unfit(host, "8:1", "disk") == ""
    (tmp_path / "sys/devices" / VIRTIO / "removable").write_text("1\n")
    assert why_unfit(host, "8:1", "disk") == "vdb1 can be taken out"


def test_an_image_may_allow_whatever_its_host_hands_in(tmp_path: Path) -> None:
    host = make_device(tmp_path, "virtual/block/loop0", VOLUME)

    assert why_unfit(host, "8:0", "any") == ""


def test_a_disk_that_calls_itself_optical_is_a_disk(tmp_path: Path) -> None:
    host = make_device(tmp_path, VIRTIO, {**CONFIG_DRIVE, "device/type": "5"})

    assert "vdb is a disk" in why_unfit(host, "8:0", "optical")


def test_what_the_kernel_does_not_describe_is_not_fit(tmp_path: Path) -> None:
    with (tmp_path / "plain").open("w") as file:
        assert number_of(file.fileno()) == "0:0"

    assert why_unfit(RealHost(str(tmp_path)), "0:0", "disk") == (
        "the kernel does not say what device 0:0 is"
    )
