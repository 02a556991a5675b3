"""Read an Ignition config: the files that it carries, and what Ignition would refuse."""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, parse_json, plain
from fairlead.errors import InputError
from fairlead.userdata.delivery import NodeFile
from fairlead.userdata.known_problems import Problem, problem_of
from fairlead.userdata.unwrap import LARGEST_JSON, Room, decode_base64, find_gunzipped

BASE64_URL = ";base64,"


def files_in_ignition(
    content: bytes, room: Room
) -> tuple[list[tuple[NodeFile, str]], list[Problem]]:
    """Return the files with their modes in octal ('' if unset), and what is wrong. Never raises."""
    document, problems = _read(content)
    if document is None:
        return [], problems
    files = []
    for entry in _list_in(document, "storage", "files"):
        if not room.take_file():
            break
        path = entry.get("path")
        if not isinstance(path, str) or not path.startswith("/"):
            problems.append(_refusal(f"the path of a file is not absolute: {path!r:.200}"))
            continue
        mode = entry.get("mode")
        files.append(
            (NodeFile(path, _content_of(entry, room)), f"{mode:04o}" if _is_mode(mode) else "")
        )
    if not any(unit.get("enabled") is True for unit in _list_in(document, "systemd", "units")):
        problems.append(_refusal("no unit is enabled, so nothing starts the agent", is_fatal=False))
    return files, problems


def _read(content: bytes) -> tuple[dict[str, object] | None, list[Problem]]:
    """Return the document, None if it cannot be read, and what is wrong with it as a whole."""
    if len(content) > LARGEST_JSON:
        return None, [problem_of("unread-json", LARGEST_JSON)]
    try:
        config = parse_json(content)
        document = plain(config)
    except InputError as error:
        return None, [_refusal(f"not usable JSON: {error.problem}")]
    except RecursionError:
        return None, [_refusal("not usable JSON: nested too deeply")]
    if not isinstance(config, Pairs):
        return None, [_refusal("not a JSON object")]
    return document, _version_problems(document)


def _is_mode(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _list_in(document: dict[str, object], *names: str) -> list[dict[str, object]]:
    value: object = document
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _version_problems(document: dict[str, object]) -> list[Problem]:
    header = document.get("ignition")
    version = header.get("version") if isinstance(header, dict) else None
    if isinstance(version, str) and version.startswith("3."):
        return []
    return [_refusal(f"ignition.version is {version!r}, expected 3.x")]


def _content_of(entry: dict[str, object], room: Room) -> bytes:
    contents = entry.get("contents")
    source = contents.get("source") if isinstance(contents, dict) else None
    if not isinstance(source, str) or BASE64_URL not in source[:200]:
        return b""
    text = source.partition(BASE64_URL)[2].encode("utf-8", "surrogateescape")
    content = decode_base64(text) or b""
    if isinstance(contents, dict) and contents.get("compression") == "gzip":
        return find_gunzipped(content, room) or b""
    return content


def _refusal(sentence: str, *, is_fatal: bool = True) -> Problem:
    effect = "the machine does not finish its first boot" if is_fatal else "the agent does not run"
    return Problem("ignition", sentence, {"ignition": effect})
