"""
Read the one shape of YAML that script files come in, and refuse everything else.

    #cloud-config
    write_files:
    - path: /opt/azure/containers/provision.sh
      permissions: "0744"
      owner: root
      encoding: gzip
      content: !!binary |
        H4sIAAAA

It is what the publishers of node images render. A document with anything in it that is not known
here is refused whole: half a set of scripts is worse than none. There is no YAML library on nodes,
and a general reader would have to be trusted with far more than this.
"""

from __future__ import annotations

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

HEADER = "#cloud-config"
LIST = "write_files:"
FIELDS = ("path", "permissions", "owner", "encoding", "content")
BINARY = "!!binary"

LARGEST_DOCUMENT = 2 << 20
MOST_FILES = 200
LARGEST_FILE = 8 << 20
LARGEST_TOTAL = 32 << 20

# cloud-init's spellings: of nothing, of base64, of gzip, and of both.
ENCODINGS = {
    "": (False, False),
    "text/plain": (False, False),
    "b64": (True, False),
    "base64": (True, False),
    "gz": (False, True),
    "gzip": (False, True),
    "gz+b64": (True, True),
    "gz+base64": (True, True),
    "gzip+b64": (True, True),
    "gzip+base64": (True, True),
}

DEFAULT_MODE = 0o644
LARGEST_MODE = 0o777
OCTAL = "01234567"
LONGEST_MODE = 5
LONGEST_PATH = 512

# What a plain scalar may be made of here; YAML gives a meaning to most other characters.
PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-=@"
BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

# zlib's number for "a gzip header and the largest window".
GZIP_WINDOW = 31


class ScriptFile:
    """One file to write: a path, a mode, and its whole content."""

    __slots__ = ("content", "mode", "path")

    def __init__(self, path: str, mode: int, content: bytes) -> None:
        self.path = path
        self.mode = mode
        self.content = content


def parse_script_files(document: bytes) -> list[ScriptFile]:
    """Return the files of a document. Raises InputError that names the line or the file."""
    if len(document) > LARGEST_DOCUMENT:
        raise InputError(
            f"the document has {len(document)} bytes, expected at most {LARGEST_DOCUMENT}"
        )
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the document is not UTF-8 text: {error.reason}") from error
    files, total = [], 0
    for fields in _Lines(text).entries():
        files.append(_file_of(fields))
        total += len(files[-1].content)
        if total > LARGEST_TOTAL or len(files) > MOST_FILES:
            raise InputError(f"more than {MOST_FILES} files or {LARGEST_TOTAL} bytes of content")
    paths = [file.path for file in files]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise InputError(f"{twice[0]} is there twice")
    return files


class _Lines:
    """The lines of a document, read from the first to the last."""

    __slots__ = ("_at", "_lines")

    def __init__(self, text: str) -> None:
        # Nothing but a line feed ends a line: the others may be part of a script.
        self._lines = text.split("\n")
        self._at = 0

    def entries(self) -> list[dict[str, str | bytes]]:
        self._skip_empty()
        if self._peek() != LIST:
            self._refuse(f"expected {LIST}")
        self._at += 1
        entries: list[dict[str, str | bytes]] = []
        while self._skip_empty():
            line = self._peek()
            indent = len(line) - len(line.lstrip(" "))
            rest = line[indent:]
            if not rest.startswith("- "):
                self._refuse("expected a file that begins with `- `")
            deeper = len(rest) - len(rest[1:].lstrip(" "))
            self._lines[self._at] = " " * (indent + deeper) + rest[deeper:]
            entries.append(self._fields(indent + deeper))
            if len(entries) > MOST_FILES:
                raise InputError(f"more than {MOST_FILES} files")
        return entries

    def _fields(self, indent: int) -> dict[str, str | bytes]:
        """Read the fields of one file, all indented alike."""
        fields: dict[str, str | bytes] = {}
        while self._skip_empty():
            line = self._peek()
            found = len(line) - len(line.lstrip(" "))
            if found < indent:
                break
            name, colon, value = line[found:].partition(":")
            if found > indent or not colon or name not in FIELDS or name in fields:
                self._refuse(f"expected one of {', '.join(FIELDS)}, each once")
            if value and not value.startswith(" "):
                self._refuse("expected a space after the colon")
            self._at += 1
            fields[name] = self._value(value.strip(" "), indent)
        return fields

    def _value(self, text: str, indent: int) -> str | bytes:
        is_binary = text == BINARY or text.startswith(f"{BINARY} ")
        text = text.removeprefix(BINARY).strip(" ") if is_binary else text
        found = self._block(text[1:], indent) if text.startswith("|") else self._scalar(text)
        return _decode_base64(found.encode(), "content") if is_binary else found

    def _scalar(self, text: str) -> str:
        if not text:
            return ""
        quote = text[0]
        if quote in "\"'":
            inner = text[1:-1]
            if len(text) < 2 or text[-1] != quote or quote in inner or "\\" in inner:  # noqa: PLR2004
                self._refuse(
                    "a quoted value must end on its line and hold no quote or backslash", 1
                )
            return inner
        if text.strip(PLAIN) or text[0] in "-=@":
            self._refuse("a value with other characters must be quoted", 1)
        return text

    def _block(self, mark: str, indent: int) -> str:
        """Read a literal block, whose lines are indented deeper than the field that has it."""
        if mark not in ("", "-", "+"):
            self._refuse("expected |, |- or |+", 1)
        lines: list[str] = []
        deep = 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip(" "):
                found = len(line) - len(line.lstrip(" "))
                if not deep and found > indent:
                    deep = found
                    self._refuse_deeper(lines, deep)
                if found < (deep or indent + 1):
                    break
            lines.append(line)
            self._at += 1
        if self._at == len(self._lines):
            # The last line feed of the document begins no line of its own.
            lines.pop()
        body = "".join(f"{line[deep:]}\n" for line in lines)
        if mark == "+":
            return body
        stripped = body.rstrip("\n")
        return stripped if mark == "-" or not stripped else stripped + "\n"

    def _refuse_deeper(self, blanks: list[str], deep: int) -> None:
        if any(len(blank) > deep for blank in blanks):
            self._refuse("an empty line is indented deeper than the text after it")

    def _skip_empty(self) -> bool:
        """Go on to the next line that says something; return whether there is one."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            stripped = line.strip(" ")
            if stripped and not stripped.startswith("#"):
                if "\t" in line or "\r" in line:
                    self._refuse("expected spaces, found a tab or a carriage return")
                return True
            self._at += 1
        return False

    def _peek(self) -> str:
        return self._lines[self._at].rstrip(" ") if self._at < len(self._lines) else ""

    def _refuse(self, expected: str, back: int = 0) -> NoReturn:
        at = self._at - back
        found = self._lines[at].strip()[:60] if at < len(self._lines) else "the end"
        raise InputError(f"line {at + 1}: found {found!a}, {expected}")


def _file_of(fields: dict[str, str | bytes]) -> ScriptFile:
    path = _text(fields, "path")
    _refuse_path(path)
    if _text(fields, "owner") not in ("", "root", "root:root"):
        raise InputError(f"{path}: owner must be root, or not there")
    encoding = _text(fields, "encoding")
    if encoding not in ENCODINGS:
        raise InputError(f"{path}: encoding {encoding[:40]!a} is not known")
    content = fields.get("content", "")
    body = content if isinstance(content, bytes) else content.encode()
    is_base64, is_gzip = ENCODINGS[encoding]
    if is_base64:
        body = _decode_base64(body, path)
    if is_gzip:
        body = _decompress(body, path)
    if len(body) > LARGEST_FILE:
        raise InputError(f"{path}: more than {LARGEST_FILE} bytes")
    return ScriptFile(path, _mode_of(_text(fields, "permissions"), path), body)


def _text(fields: dict[str, str | bytes], name: str) -> str:
    value = fields.get(name, "")
    if isinstance(value, bytes):
        raise InputError(f"{name} must be text")
    return value


def _refuse_path(path: str) -> None:
    parts = path.split("/")
    is_clean = path.startswith("/") and all(part not in ("", ".", "..") for part in parts[1:])
    if not is_clean or len(path) > LONGEST_PATH or not path.isprintable() or "\\" in path:
        raise InputError(f"path {path[:80]!a} must be absolute, without empty parts, `.` and `..`")


def _mode_of(text: str, path: str) -> int:
    if not text:
        return DEFAULT_MODE
    if text.strip(OCTAL) or len(text) > LONGEST_MODE or not 0 < int(text, 8) <= LARGEST_MODE:
        raise InputError(f"{path}: permissions {text[:20]!a} must be octal, from 1 to 0777")
    return int(text, 8)


def _decode_base64(text: bytes, where: str) -> bytes:
    import binascii

    joined = b"".join(text.split())
    if joined.strip(BASE64) or b"=" in joined.rstrip(b"=") or len(joined) % 4:
        raise InputError(f"{where}: holds no base64")
    try:
        return binascii.a2b_base64(joined)
    except binascii.Error as error:
        raise InputError(f"{where}: holds no base64: {error}") from error


def _decompress(body: bytes, path: str) -> bytes:
    import zlib

    stream = zlib.decompressobj(GZIP_WINDOW)
    try:
        content = stream.decompress(body, LARGEST_FILE + 1)
    except zlib.error as error:
        raise InputError(f"{path}: holds no gzip: {error}") from error
    if len(content) > LARGEST_FILE:
        raise InputError(f"{path}: more than {LARGEST_FILE} bytes when unpacked")
    if not stream.eof or stream.unused_data:
        raise InputError(f"{path}: its gzip ends too early, or something follows it")
    return content
