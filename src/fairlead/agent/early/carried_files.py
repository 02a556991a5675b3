"""
Take the files out of user data as `fairlead userdata render` puts them in, by their markers.

Nothing is executed and nothing is guessed: a boothook is read line by line for the here-documents
that our own renderer writes, with their digests; a cloud-config for `write_files` with block
text. Whatever has another shape is left to cloud-init.
"""

from __future__ import annotations

from fairlead.agent.early.digest import sha256_of
from fairlead.agent.early.layers import decode_base64, gunzip, leaf_parts
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
    from collections.abc import Callable
    from typing import Any

    Unpack = Callable[[bytes], "bytes | None"]

# What a file without a path is: a bare document, which the layout finds a place for.
NODE_CONFIG = "node_config"
BOOT_DOCUMENT = "boot_document"

CONFIG_MARK = b"#cloud-config"

DATA_URL = "data:;base64,"


class EmbeddedFile:
    """One file that user data brings. `place` is a path, or NODE_CONFIG or BOOT_DOCUMENT."""

    __slots__ = ("content", "place")

    def __init__(self, place: str, content: bytes) -> None:
        self.place = place
        self.content = content


def files_in_user_data(user_data: bytes) -> list[EmbeddedFile]:
    """Return the files of every part, in order; [] if no part has a shape we know. Never raises."""
    files: list[EmbeddedFile] = []
    for part in leaf_parts(user_data):
        text = part.lstrip()
        if text.startswith(FIRST_LINE.encode()):
            files += _files_in_boothook(text)
        elif text.startswith(CONFIG_MARK):
            files += _files_in_cloud_config(text)
        elif text.startswith(b"{"):
            files += _files_in_json(text)
    return files


def _files_in_boothook(text: bytes) -> list[EmbeddedFile]:
    files = []
    lines = iter(text.split(b"\n"))
    for raw in lines:
        words = words_of_put_line(raw.rstrip(b"\r").decode("latin-1"))
        if words is None:
            continue
        packed = []
        for inner in lines:
            if inner.rstrip(b"\r") == END.encode():
                break
            packed.append(inner)
        file = _hook_file(words, b"".join(packed))
        if file is not None:
            files.append(file)
    return files


def _hook_file(words: tuple[str, str, str], packed: bytes) -> EmbeddedFile | None:
    digest, path, how = words
    content = _unpacked(packed, {UNPACK_PLAIN: _plain, UNPACK_GZIP: gunzip}.get(how))
    if content is None or sha256_of(content) != digest:
        return None
    return EmbeddedFile(path, content)


def _plain(content: bytes) -> bytes | None:
    return content


def _unpacked(packed: bytes, unpack: Unpack | None) -> bytes | None:
    content = decode_base64(packed)
    return None if content is None or unpack is None else unpack(content)


# cloud-init's names for what `content` is wrapped in.
ENCODINGS: dict[str, Unpack] = {
    "b64": _plain,
    "base64": _plain,
    "gz+b64": gunzip,
    "gz+base64": gunzip,
    "gzip+b64": gunzip,
    "gzip+base64": gunzip,
}


def _files_in_cloud_config(text: bytes) -> list[EmbeddedFile]:
    files = []
    for entry in _write_files_entries(text.decode("utf-8", "surrogateescape")):
        unpack = ENCODINGS.get(entry.get("encoding", ""))
        packed = entry.get("content", "").encode("utf-8", "surrogateescape")
        content = _unpacked(packed, unpack) if unpack else None
        if content is not None and entry.get("path"):
            files.append(EmbeddedFile(entry["path"], content))
    return files


def _write_files_entries(text: str) -> list[dict[str, str]]:
    """Return the list below `write_files:`, each entry's keys with plain or block values."""
    entries: list[dict[str, str]] = []
    is_inside = False
    block_key = ""
    block_indent = 0
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if block_key and (not line.strip() or indent > block_indent):
            entries[-1][block_key] += line.strip() + "\n"
            continue
        block_key = ""
        if indent == 0 and not line.startswith(("- ", "#")):
            is_inside = line.rstrip() == "write_files:"
            continue
        if not is_inside or not line.strip():
            continue
        if line.lstrip().startswith("- "):
            entries.append({})
            indent += 2
        key, _, value = line.strip().removeprefix("- ").partition(":")
        if not entries:
            continue
        entries[-1][key.strip()] = value.strip().strip("\"'")
        if value.strip() in ("|", "|-", "|+"):
            entries[-1][key.strip()] = ""
            block_key, block_indent = key.strip(), indent
    return entries


def _files_in_json(text: bytes) -> list[EmbeddedFile]:
    try:
        value = parse_json(text)
    except InputError:
        return []
    fields = plain(value) if isinstance(value, Pairs) else {}
    if "ignition" in fields:
        return _files_in_ignition(fields)
    if "endpoint" in fields and "token" in fields:
        return [EmbeddedFile(BOOT_DOCUMENT, text)]
    if "version" in fields:
        return [EmbeddedFile(NODE_CONFIG, text)]
    return []


def _files_in_ignition(fields: dict[str, Any]) -> list[EmbeddedFile]:
    match fields:
        case {"storage": {"files": list(entries)}}:
            found = [_ignition_file(entry) for entry in entries]
            return [file for file in found if file is not None]
    return []


def _ignition_file(entry: object) -> EmbeddedFile | None:
    match entry:
        case {"path": str(path), "contents": {"source": str(source), **more}}:
            if not source.startswith(DATA_URL):
                return None
            unpack = gunzip if more.get("compression") == "gzip" else _plain
            content = _unpacked(source[len(DATA_URL) :].encode("utf-8", "replace"), unpack)
            return None if content is None else EmbeddedFile(path, content)
    return None
