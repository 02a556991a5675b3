"""
Which data sources the image lists for cloud-init, by a reader of that one setting.

A YAML library is no part of the agent. This reads the ways in which images write the list; any
other way is told, and nothing is taken for listed.
"""

from __future__ import annotations

from fairlead.agent.files import find_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

SETTINGS = "/etc/cloud/cloud.cfg"
SETTINGS_DIRECTORY = "/etc/cloud/cloud.cfg.d"
# Where cloud-init's own detection is told to look for one source only. The kernel's command line
# may say so too; it is not part of the image, and in a container it is the host's.
PINNED = "/etc/cloud/ds-identify.cfg"

KEY = "datasource_list"
PINNED_KEY = "datasource:"

NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

# A list goes on for as many lines at most; the longest in use has two dozen names.
MOST_LINES = 64


class ListedSources:
    """What the image lists: `names` None if nothing does, and what of it could not be read."""

    __slots__ = ("names", "problem")

    def __init__(self, names: list[str] | None, problem: str = "") -> None:
        self.names = names
        self.problem = problem


def listed_sources(host: Host) -> ListedSources:
    """Return what cloud-init of this image may look at. Never raises."""
    listed = ListedSources(None)
    for path in (SETTINGS, *_more_settings(host)):
        try:
            text = find_file(host, path)
        except OSError as error:
            listed = ListedSources([], str(error))
            continue
        # As in cloud-init, the last file that has a word about it counts.
        if text is not None and KEY.encode() in text:
            listed = _list_in(path, text.decode("utf-8", "replace").splitlines()) or listed
    return _pinned(host) or listed


def _more_settings(host: Host) -> list[str]:
    try:
        names = host.list_directory(SETTINGS_DIRECTORY)
    except OSError:
        return []
    return [f"{SETTINGS_DIRECTORY}/{name}" for name in sorted(names) if name.endswith(".cfg")]


def _list_in(path: str, lines: list[str]) -> ListedSources | None:
    """Return the last list of a file; None if it only speaks of one in comments."""
    found = None
    for number, raw in enumerate(lines):
        line = _without_comment(raw)
        if KEY not in line:
            continue
        name, colon, value = line.partition(":")
        names = None
        if name.rstrip() in (KEY, f'"{KEY}"', f"'{KEY}'") and colon:
            names = _names_from(value.strip(), lines[number + 1 : number + MOST_LINES])
        problem = "" if names is not None else f"{path}: {KEY} is not written as a list of names"
        found = ListedSources([] if names is None else names, problem)
    return found


def _names_from(value: str, following: list[str]) -> list[str] | None:
    """Return the names of `[A, B]`, or of lines with a dash; None if it is neither."""
    if not value:
        return _checked(_dashed(following))
    if not value.startswith("["):
        return None
    text = value[1:]
    for line in following:
        if "]" in text:
            break
        text += " " + _without_comment(line)
    inside, bracket, behind = text.partition("]")
    names = [name.strip() for name in inside.split(",")]
    if not bracket or behind.strip():
        return None
    return _checked(names[:-1] if names[-1] == "" else names)


def _dashed(following: list[str]) -> list[str]:
    names = []
    for raw in following:
        line = _without_comment(raw).strip()
        if not line:
            continue
        if not line.startswith("- "):
            break
        names.append(line[2:].strip())
    return names


def _checked(names: list[str]) -> list[str] | None:
    plain = [name[1:-1] if _is_quoted(name) else name for name in names]
    return plain if all(name and not name.strip(NAME_CHARACTERS) for name in plain) else None


def _is_quoted(name: str) -> bool:
    return len(name) > 1 and name[0] == name[-1] and name[0] in "\"'"


def _without_comment(line: str) -> str:
    return "" if line.lstrip().startswith("#") else line.partition(" #")[0]


def _pinned(host: Host) -> ListedSources | None:
    try:
        text = find_file(host, PINNED) or b""
    except OSError as error:
        return ListedSources([], str(error))
    for raw in text.decode("utf-8", "replace").splitlines():
        line = _without_comment(raw).strip()
        if line.startswith(PINNED_KEY):
            names = _checked([line[len(PINNED_KEY) :].strip()])
            problem = "" if names is not None else f"{PINNED}: {PINNED_KEY} is not one name"
            return ListedSources([] if names is None else names, problem)
    return None
