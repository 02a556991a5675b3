"""
What the image allows the early reader: which data sources, which drives, and whether a node that
has a document may be given another.

The word is the image's: a file that its builder wrote, and cloud-init's own list. Nothing that
arrives with a machine, on a drive or in a seed, can change it.
"""

from __future__ import annotations

from fairlead.agent.early.data_sources import NAME_CHARACTERS, listed_sources
from fairlead.agent.files import find_file
from fairlead.contract.feature_file import parse_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

SETTINGS = "/etc/fairlead-node/seeds.conf"

SOURCES = "DATA_SOURCES"
DRIVES = "DRIVES"
REPROVISION = "REPROVISION"

# Optical drives; small disks of the machine itself besides; whatever block device there is.
OPTICAL, DISK, ANY = "optical", "disk", "any"

WORDS = {DRIVES: (OPTICAL, DISK, ANY), REPROVISION: ("no", "yes")}

WRITABLE_BY_OTHERS = 0o022


class ImageSettings:
    """
    What the image says. Its defaults are what an image allows that says nothing.

    sources: the data sources that it lists; None if it lists none anywhere. problems: what it
    says and cannot be used, for the owner of the image.
    """

    __slots__ = ("drives", "problems", "reprovisions", "sources")

    def __init__(self) -> None:
        self.sources: list[str] | None = None
        self.drives = OPTICAL
        self.reprovisions = False
        self.problems: list[str] = []

    def lists(self, source: str, *, is_drive: bool) -> bool:
        """
        Say whether this data source may be looked at.

        An image without any list has its seeds read, which lie on the machine's own disk: whoever
        writes there is root on it. A drive is read only where it is listed.
        """
        return not is_drive if self.sources is None else source in self.sources


def read_settings(host: Host) -> ImageSettings:
    """Return what this image allows. Never raises: what cannot be read allows nothing more."""
    settings = ImageSettings()
    words = _words(host, settings.problems)
    for name, value in words.items():
        if name not in (SOURCES, *WORDS):
            settings.problems.append(f"{SETTINGS}: {name} is not a setting")
        elif value not in WORDS.get(name, (value,)):
            known = ", ".join(WORDS[name])
            settings.problems.append(f"{SETTINGS}: {name} must be one of {known}, found {value!r}")
        elif name == DRIVES:
            settings.drives = value
        elif name == REPROVISION:
            settings.reprovisions = value == "yes"
    if SOURCES in words:
        settings.sources = _names(words[SOURCES], settings.problems)
    else:
        listed = listed_sources(host)
        settings.sources = listed.names
        settings.problems += [listed.problem] if listed.problem else []
    return settings


def _words(host: Host, problems: list[str]) -> dict[str, str]:
    try:
        mode = host.file_mode(SETTINGS)
        if mode is None:
            return {}
        if mode & WRITABLE_BY_OTHERS:
            problems.append(f"{SETTINGS} is not believed: others than its owner may write it")
            return {}
        return parse_features(find_file(host, SETTINGS) or b"")
    except OSError as error:
        problems.append(str(error))
        return {}


def _names(value: str, problems: list[str]) -> list[str]:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if any(name.strip(NAME_CHARACTERS) for name in names):
        problems.append(f"{SETTINGS}: {SOURCES} must be names with commas between, found {value!r}")
        return []
    return names
