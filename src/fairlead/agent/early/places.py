"""
Where user data can be had without cloud-init and without a network, in the order of trust.

To add one: a row here, and its path among the conditions of fairlead-node-seed.service, without
which systemd does not start the agent for it; tests/unit/agent/early/test_places.py holds the two
against each other.
"""

from __future__ import annotations

from fairlead.agent.files import find_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.agent.host import Host

CREDENTIALS = ("fairlead.node-config", "fairlead.user-data")

# Where systemd keeps credentials that no unit asked for.
SYSTEM_CREDENTIALS = "/run/credentials/@system"

SEED_FILES = (
    ("NoCloud seed", "/var/lib/cloud/seed/nocloud/user-data"),
    ("NoCloud seed", "/var/lib/cloud/seed/nocloud-net/user-data"),
    ("config drive seed", "/var/lib/cloud/seed/config_drive/openstack/latest/user_data"),
    ("Azure seed", "/var/lib/cloud/seed/azure/ovf-env.xml"),
)

# what, device, file on it
DRIVES = (
    ("cidata drive", "/dev/disk/by-label/cidata", "user-data"),
    ("cidata drive", "/dev/disk/by-label/CIDATA", "user-data"),
    ("config drive", "/dev/disk/by-label/config-2", "openstack/latest/user_data"),
    ("config drive", "/dev/disk/by-label/CONFIG-2", "openstack/latest/user_data"),
    ("Azure media", "/dev/sr0", "ovf-env.xml"),
)

# cloud-init's own copy. Before cloud-init has run in this boot it may be another machine's.
CLOUD_INIT_COPY = "/var/lib/cloud/instance/user-data.txt"
CLOUD_INIT_RAN = "/run/cloud-init/.instance-id"


def user_data_by_place(host: Host) -> Iterator[tuple[str, bytes]]:
    """Yield what each place holds, with the place's name, first the one that counts most."""
    for name, text in _look_around(host):
        if text is not None:
            yield name, text


def _look_around(host: Host) -> Iterator[tuple[str, bytes | None]]:
    for name in CREDENTIALS:
        yield f"credential {name}", _read_credential(host, name)
    for name, path in SEED_FILES:
        yield name, _inner(path, _read_seed(host, path))
    if host.is_directory:
        return  # A directory has no drives, and cloud-init does not run in it.
    for name, device, path in DRIVES:
        yield name, _inner(path, _read_drive(host, device, path))


def _read_seed(host: Host, path: str) -> bytes | None:
    try:
        return find_file(host, path)
    except OSError:
        return None  # A pipe, or a disk with a hole: the next place may be better.


def find_cloud_init_copy(host: Host) -> bytes | None:
    """Return this boot's user data as cloud-init keeps it; None before cloud-init had it."""
    return None if host.file_mode(CLOUD_INIT_RAN) is None else find_file(host, CLOUD_INIT_COPY)


def _read_credential(host: Host, name: str) -> bytes | None:
    for directory in (host.environment.get("CREDENTIALS_DIRECTORY", ""), SYSTEM_CREDENTIALS):
        text = find_file(host, f"{directory}/{name}") if directory else None
        if text is not None:
            return text
    return None


def _inner(path: str, text: bytes | None) -> bytes | None:
    if text is None or not path.endswith(".xml"):
        return text
    from fairlead.agent.early.ovf import custom_data_in

    return custom_data_in(text)


def _read_drive(host: Host, device: str, path: str) -> bytes | None:
    if host.file_mode(device) is None:
        return None
    from fairlead.agent.early.drive import find_file_on_drive

    return find_file_on_drive(host, device, path)
