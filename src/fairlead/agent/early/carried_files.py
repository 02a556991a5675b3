"""
Take the files out of user data as `fairlead userdata render` puts them in, by their markers.

Nothing is executed and nothing is guessed: a boothook is read line by line for the here-documents
that our own renderer writes, with their digests; a cloud-config for `write_files` with block
text. Whatever has another shape is left to cloud-init.
"""

from __future__ import annotations

from fairlead.agent.early.digest import sha256_of
from fairlead.agent.early.layers import Room, decode_base64, gunzip, leaf_parts
from fairlead.contract.hook_files import (
    END,
    FIRST_LINE,
    UNPACK_GZIP,
    UNPACK_PLAIN,
    words_of_put_line,
)
from fairlead.contract.json_text import Pairs, parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Unpack = Callable[[bytes, Room], "bytes | None"]

# What a file without a path is: a bare document, which the layout finds a place for.
NODE_CONFIG = "node_config"
BOOT_DOCUMENT = "boot_document"

CONFIG_MARK = b"#cloud-config"

DATA_URL = "data:;base64,"

# Of one document. User data of ours carries three files; what somebody wrote beside them is little.
MOST_FILES = 64
# Lines of base64 fill them with what there is room for.
MOST_LINES = 300_000
# A value takes up to thirty times its text in memory.
LARGEST_JSON = 6 << 20


class EmbeddedFile:
    """One file that user data brings. `place` is a path, or NODE_CONFIG or BOOT_DOCUMENT."""

    __slots__ = ("content", "place")

    def __init__(self, place: str, content: bytes) -> None:
        self.place = place
        self.content = content


def files_in_user_data(user_data: bytes) -> list[EmbeddedFile]:
    """Return the files of every part, in order; [] if no part has a shape we know. Never raises."""
    room = Room()
    files: list[EmbeddedFile] = []
    for part in leaf_parts(user_data, room):
        text = part.lstrip()
        if text.startswith(FIRST_LINE.encode()):
            files += _files_in_boothook(text, room)
        elif text.startswith(CONFIG_MARK):
            files += _files_in_cloud_config(text, room)
        elif text.startswith(b"{") and len(text) <= LARGEST_JSON:
            files += _files_in_json(text, room)
    return files[:MOST_FILES]


def _lines_of(text: bytes) -> Iterator[bytes]:
    """Yield line by line: a list of sixteen million empty ones would be the larger document."""
    at = 0
    for _ in range(MOST_LINES):
        end = text.find(b"\n", at)
        yield text[at:] if end < 0 else text[at:end]
        if end < 0:
            return
        at = end + 1


def _files_in_boothook(text: bytes, room: Room) -> list[EmbeddedFile]:
    files: list[EmbeddedFile] = []
    lines = _lines_of(text)
    for raw in lines:
        words = words_of_put_line(raw.rstrip(b"\r").decode("latin-1"))
        if words is None:
            continue
        packed = []
        for inner in lines:
            if inner.rstrip(b"\r") == END.encode():
                break
            packed.append(inner)
        file = _hook_file(words, b"".join(packed), room)
        if file is not None:
            files.append(file)
        if len(files) >= MOST_FILES:
            break
    return files


def _hook_file(words: tuple[str, str, str], packed: bytes, room: Room) -> EmbeddedFile | None:
    digest, path, how = words
    content = _unpacked(packed, {UNPACK_PLAIN: _plain, UNPACK_GZIP: gunzip}.get(how), room)
    if content is None or sha256_of(content) != digest:
        return None
    return EmbeddedFile(path, content)


def _plain(content: bytes, _room: Room) -> bytes | None:
    return content


def _unpacked(packed: bytes, unpack: Unpack | None, room: Room) -> bytes | None:
    content = decode_base64(packed, room)
    return None if content is None or unpack is None else unpack(content, room)


# cloud-init's names for what `content` is wrapped in.
ENCODINGS: dict[str, Unpack] = {
    "b64": _plain,
    "base64": _plain,
    "gz+b64": gunzip,
    "gz+base64": gunzip,
    "gzip+b64": gunzip,
    "gzip+base64": gunzip,
}


def _files_in_cloud_config(text: bytes, room: Room) -> list[EmbeddedFile]:
    files = []
    for entry in _write_files_entries(text):
        unpack = ENCODINGS.get(_joined(entry, "encoding"))
        packed = _joined(entry, "content").encode("utf-8", "surrogateescape")
        content = _unpacked(packed, unpack, room) if unpack else None
        if content is not None and entry.get("path"):
            files.append(EmbeddedFile(_joined(entry, "path"), content))
    return files


def _joined(entry: dict[str, list[str]], name: str) -> str:
    return "".join(entry.get(name, ()))


def _write_files_entries(text: bytes) -> list[dict[str, list[str]]]:
    """
    Return the list below `write_files:`, each entry's keys with plain or block values.

    A value is the list of its lines: joined once, it costs no more than it is long.
    """
    entries: list[dict[str, list[str]]] = []
    is_inside = False
    block: list[str] | None = None
    block_indent = 0
    for raw in _lines_of(text):
        line = raw.decode("utf-8", "surrogateescape").rstrip("\r")
        indent = len(line) - len(line.lstrip(" "))
        if block is not None and (not line.strip() or indent > block_indent):
            block.append(line.strip() + "\n")
            continue
        block = None
        if indent == 0 and not line.startswith(("- ", "#")):
            is_inside = line.rstrip() == "write_files:"
            continue
        if not is_inside or not line.strip():
            continue
        if line.lstrip().startswith("- "):
            if len(entries) >= MOST_FILES:
                break
            entries.append({})
            indent += 2
        if entries:
            block, block_indent = _take_line(entries[-1], line), indent
    return entries


def _take_line(entry: dict[str, list[str]], line: str) -> list[str] | None:
    """Put a line's key into the entry; return where its lines go if its value is a block."""
    key, _, value = line.strip().removeprefix("- ").partition(":")
    is_block = value.strip() in ("|", "|-", "|+")
    lines = [] if is_block else [value.strip().strip("\"'")]
    entry[key.strip()] = lines
    return lines if is_block else None


def _files_in_json(text: bytes, room: Room) -> list[EmbeddedFile]:
    try:
        value = parse_json(text)
        fields = plain(value) if isinstance(value, Pairs) else {}
    except (InputError, RecursionError):
        return []
    if "ignition" in fields:
        return _files_in_ignition(fields, room)
    if "endpoint" in fields and "token" in fields:
        return [EmbeddedFile(BOOT_DOCUMENT, text)]
    if "version" in fields:
        return [EmbeddedFile(NODE_CONFIG, text)]
    return []


def _files_in_ignition(fields: dict[str, Any], room: Room) -> list[EmbeddedFile]:
    match fields:
        case {"storage": {"files": list(entries)}}:
            found = [_ignition_file(entry, room) for entry in entries[:MOST_FILES]]
            return [file for file in found if file is not None]
    return []


def _ignition_file(entry: object, room: Room) -> EmbeddedFile | None:
    match entry:
        case {"path": str(path), "contents": {"source": str(source), **more}}:
            if not source.startswith(DATA_URL):
                return None
            unpack = gunzip if more.get("compression") == "gzip" else _plain
            packed = source[len(DATA_URL) :].encode("utf-8", "replace")
            content = _unpacked(packed, unpack, room)
            return None if content is None else EmbeddedFile(path, content)
    return None
