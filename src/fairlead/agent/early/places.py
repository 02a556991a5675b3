"""
Where user data can be had without cloud-init and without a network, in the order of trust.

To add one: a row here, and its path among the conditions of fairlead-node-seed.service, without
which systemd does not start the agent for it; tests/unit/agent/early/test_places.py holds the two
against each other. What the image does not list is not looked at, and neither are devices that no
cloud attaches: image_settings.py and fit_drive.py.
"""

from __future__ import annotations

from fairlead.agent.files import find_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fairlead.agent.early.image_settings import ImageSettings
    from fairlead.agent.host import Host

    # Takes one sentence: which place was passed over, and why.
    Refuse = Callable[[str], None]

CREDENTIALS = ("fairlead.node-config", "fairlead.user-data")

# Where systemd keeps credentials that no unit asked for.
SYSTEM_CREDENTIALS = "/run/credentials/@system"

# what, cloud-init's name for the source, file
SEED_FILES = (
    ("NoCloud seed", "NoCloud", "/var/lib/cloud/seed/nocloud/user-data"),
    ("NoCloud seed", "NoCloud", "/var/lib/cloud/seed/nocloud-net/user-data"),
    (
        *("config drive seed", "ConfigDrive"),
        "/var/lib/cloud/seed/config_drive/openstack/latest/user_data",
    ),
    ("Azure seed", "Azure", "/var/lib/cloud/seed/azure/ovf-env.xml"),
)

# what, cloud-init's name for the source, device, file on it
DRIVES = (
    ("cidata drive", "NoCloud", "/dev/disk/by-label/cidata", "user-data"),
    ("cidata drive", "NoCloud", "/dev/disk/by-label/CIDATA", "user-data"),
    ("config drive", "ConfigDrive", "/dev/disk/by-label/config-2", "openstack/latest/user_data"),
    ("config drive", "ConfigDrive", "/dev/disk/by-label/CONFIG-2", "openstack/latest/user_data"),
    ("Azure media", "Azure", "/dev/sr0", "ovf-env.xml"),
)
# A machine has this drive whether anything is in it or not: where it is not listed nobody means it.
UNLABELLED = "/dev/sr0"

# cloud-init's own copy. Before cloud-init has run in this boot it may be another machine's.
CLOUD_INIT_COPY = "/var/lib/cloud/instance/user-data.txt"
CLOUD_INIT_RAN = "/run/cloud-init/.instance-id"


class Place:
    """User data that was found: where, and whether it may replace what a node has."""

    __slots__ = ("may_replace", "name", "user_data")

    def __init__(self, name: str, user_data: bytes, *, may_replace: bool = False) -> None:
        self.name = name
        self.user_data = user_data
        self.may_replace = may_replace


class Lookout:
    """
    One look around a machine. `settings` are read where there is something to look at.

    drives: the devices that were there.
    """

    __slots__ = ("_host", "_refuse", "_settings", "drives")

    def __init__(self, host: Host, refuse: Refuse) -> None:
        self._host = host
        self._refuse = refuse
        self._settings: ImageSettings | None = None
        self.drives: list[str] = []

    @property
    def settings(self) -> ImageSettings:
        """What the image allows."""
        if self._settings is None:
            from fairlead.agent.early.image_settings import read_settings

            self._settings = read_settings(self._host)
            for problem in self._settings.problems:
                self._refuse(problem)
        return self._settings

    def places(self, judged: list[str] | None = None) -> Iterator[Place]:
        """
        Yield what each place holds, first the one that counts most.

        judged: once a boot is over, the drives that it knew. None of them is looked at again, and
        others are not looked at.
        """
        for name in CREDENTIALS:
            text = _read_credential(self._host, name)
            if text is not None:
                yield self._place(f"credential {name}", text)
        for name, source, path in SEED_FILES:
            text = _inner(path, self._read_seed(name, source, path))
            if text is not None:
                yield self._place(name, text)
        # A directory has no drives, and cloud-init does not run in it.
        if not self._host.is_directory:
            yield from self._places_on_drives(judged)

    def _places_on_drives(self, judged: list[str] | None) -> Iterator[Place]:
        for row in DRIVES:
            place = self._find_on_drive(row) if self._is_looked_at(row, judged) else None
            if place is not None:
                yield place

    def _place(self, name: str, text: bytes, *, can_replace: bool = True) -> Place:
        return Place(name, text, may_replace=can_replace and self.settings.reprovisions)

    def _read_seed(self, name: str, source: str, path: str) -> bytes | None:
        if self._host.file_mode(path) is None or not self._is_listed(name, source, path):
            return None
        try:
            return find_file(self._host, path)
        except OSError:
            return None  # A pipe, or a disk with a hole: the next place may be better.

    def _is_looked_at(self, row: tuple[str, str, str, str], judged: list[str] | None) -> bool:
        name, source, device, _ = row
        if self._host.file_mode(device) is None or not self._is_listed(name, source, device):
            return False
        self.drives.append(device)
        if judged is not None and device not in judged:
            self._refuse(f"{name} {device} is not looked at: this boot was over when it came")
        return judged is None

    def _find_on_drive(self, row: tuple[str, str, str, str]) -> Place | None:
        name, _, device, path = row
        from fairlead.agent.early.drive import find_file_on_drive
        from fairlead.agent.early.fit_drive import number_of, why_unfit
        from fairlead.agent.early.image_settings import OPTICAL

        def is_fit(descriptor: int) -> bool:
            number.append(number_of(descriptor))
            problem = why_unfit(self._host, number[0], self.settings.drives)
            if problem:
                self._refuse(f"{name} {device} is not looked at: {problem}")
            return not problem

        number: list[str] = []
        text = _inner(path, find_file_on_drive(self._host, device, path, is_fit))
        if text is None:
            return None
        # Where the image allows more drives than optical ones, others may be volumes of pods.
        is_optical = not why_unfit(self._host, number[0], OPTICAL)
        return self._place(name, text, can_replace=is_optical)

    def _is_listed(self, name: str, source: str, path: str) -> bool:
        is_drive = path.startswith("/dev/")
        if self.settings.lists(source, is_drive=is_drive):
            return True
        if path != UNLABELLED:
            self._refuse(
                f"{name} {path} is not looked at: the image does not list {source}, neither in "
                "cloud-init's datasource_list nor in DATA_SOURCES of /etc/fairlead-node/seeds.conf"
            )
        return False


def find_cloud_init_copy(host: Host) -> bytes | None:
    """Return this boot's user data as cloud-init keeps it; None before cloud-init had it."""
    return None if host.file_mode(CLOUD_INIT_RAN) is None else find_file(host, CLOUD_INIT_COPY)


def _read_credential(host: Host, name: str) -> bytes | None:
    for directory in (host.environment.get("CREDENTIALS_DIRECTORY", ""), SYSTEM_CREDENTIALS):
        try:
            text = find_file(host, f"{directory}/{name}") if directory else None
        except PermissionError:
            continue  # A hardened unit sees its own directory, and not the machine's.
        if text is not None:
            return text
    return None


def _inner(path: str, text: bytes | None) -> bytes | None:
    if text is None or not path.endswith(".xml"):
        return text
    from fairlead.agent.early.ovf import custom_data_in

    return custom_data_in(text)
