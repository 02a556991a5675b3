"""Which distribution a machine runs, as /etc/os-release says it."""

from __future__ import annotations

from fairlead.agent.files import find_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

PLACES = ("/etc/os-release", "/usr/lib/os-release")
LARGEST = 16 * 1024


def read_os_release(host: Host) -> dict[str, str]:
    """Return its values by name; {} if it is not there."""
    for path in PLACES:
        text = find_file(host, path)
        if text is not None:
            return _values_of(text[:LARGEST].decode("utf-8", "replace"))
    return {}


def find_system(host: Host) -> str:
    """Return the ID of the distribution; '' if it does not say."""
    return read_os_release(host).get("ID", "").lower()


def find_systems(host: Host) -> list[str]:
    """Return what a distribution may be called, the most specific first: ubuntu22.04, ubuntu."""
    values = read_os_release(host)
    system, version = values.get("ID", "").lower(), values.get("VERSION_ID", "").lower()
    names = [f"{system}{version}", system] if system and version else [system]
    return [name for name in names if name and "/" not in name]


def _values_of(text: str) -> dict[str, str]:
    values = {}
    for line in text.split("\n"):
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            values[name] = value.strip("\"'")
    return values
