"""
Read a boothook that somebody wrote: the files in its here-documents, and its known dangers.

Reading, not running: what a shell would make of arbitrary text is not decided here. Dangers are
looked for in the lines of the script only, never in the bodies of its here-documents.
"""

from __future__ import annotations

import re

from fairlead.contract.node_paths import DOCUMENT_PATHS
from fairlead.userdata.delivery import NodeFile
from fairlead.userdata.known_problems import Problem, problem_of
from fairlead.userdata.unwrap import MOST_LINES, Room, decode_base64, find_gunzipped

HERE_DOCUMENT = re.compile(r"<<(-?)\s*(['\"\\]?)(\w+)")
ABSOLUTE_PATH = re.compile(r"(?<![\w/])/[\w./@+-]+")
SYSTEMCTL_START = re.compile(r"\bsystemctl\b[^|;&\n]*\b(start|restart)\b[^|;&\n]*")
SYSTEMCTL_ENABLE = re.compile(r"\bsystemctl\b[^|;&\n]*\benable\b(?![^|;&\n]*--now)")
LOGGING = re.compile(r"2?>>|\blogger\b|systemd-cat|\btee\b")
UNZIPS = re.compile(r"\b(gzip|gunzip|zcat)\b")
# The line of our own hook: put DIGEST PATH UNPACK.
OUR_PUT = re.compile(r"put [0-9a-f]{64} /")
UNIT_SECTION = re.compile(r"^\[Service\]\s*$", re.MULTILINE)

PROGRAM_DIRECTORIES = ("/bin/", "/sbin/", "/usr/", "/dev/", "/proc/")

# Longer scripts are looked at in part; 22 KiB is the largest script of ours without its files.
LONGEST_SCRIPT = 1 << 20


class Hook:
    """The lines that a shell would run, and what its here-documents hold."""

    def __init__(self, text: str) -> None:
        self.script, self.bodies = _split(text)

    def files(self, room: Room) -> list[NodeFile]:
        """Return the files that here-documents carry, unpacked; path '' where none is named."""
        return [_file_of(line, body, room) for line, body in self.bodies if room.take_file()]

    def problems(self) -> list[Problem]:
        """Return the known dangers of this hook."""
        script = "\n".join(
            line for line in self.script[:LONGEST_SCRIPT].split("\n") if not _is_comment(line)
        )
        found = []
        starts = [match[0] for match in SYSTEMCTL_START.finditer(script)]
        if any("--no-block" not in start for start in starts):
            found.append(problem_of("blocking-start"))
        if not re.search(r"\btimeout\b", script):
            found.append(problem_of("no-timeout"))
        if SYSTEMCTL_ENABLE.search(script) and not starts:
            found.append(problem_of("enable-only"))
        if not LOGGING.search(script):
            found.append(problem_of("silent-hook"))
        return found + _writes_in_place(script)


def unit_problems(text: str) -> list[Problem]:
    """Return what is wrong with a systemd service in this text; [] if there is none."""
    if not UNIT_SECTION.search(text):
        return []
    after = " ".join(re.findall(r"^After=(.*)$", text, re.MULTILINE)).split()
    rows = (
        ("after-cloud-init-service", "cloud-init.service" in after),
        ("after-network-online", "network-online.target" in after),
        (
            "default-dependencies",
            not re.search(r"^DefaultDependencies=(no|false|0)\s*$", text, re.MULTILINE),
        ),
    )
    return [problem_of(code) for code, is_found in rows if is_found]


def _split(text: str) -> tuple[str, list[tuple[str, str]]]:
    lines = text.replace("\r\n", "\n").split("\n", MOST_LINES)[:MOST_LINES]
    script: list[str] = []
    bodies: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        script.append(line)
        at += 1
        match = None if _is_comment(line) else HERE_DOCUMENT.search(line)
        if match is None:
            continue
        start = at
        while at < len(lines) and lines[at].lstrip("\t" if match[1] else "") != match[3]:
            at += 1
        bodies.append((line, "\n".join(lines[start:at]) + "\n"))
        at += 1
    return "\n".join(script), bodies


def _file_of(line: str, body: str, room: Room) -> NodeFile:
    paths = [
        path for path in ABSOLUTE_PATH.findall(line) if not path.startswith(PROGRAM_DIRECTORIES)
    ]
    content = body.encode("utf-8", "surrogateescape")
    packed = decode_base64(content) if "base64" in line or OUR_PUT.match(line) else None
    if packed is not None:
        unzipped = find_gunzipped(packed, room) if UNZIPS.search(line) else None
        content = packed if unzipped is None else unzipped
    return NodeFile(paths[-1] if paths else "", content)


def _writes_in_place(script: str) -> list[Problem]:
    watched = [*DOCUMENT_PATHS["node_config"], *DOCUMENT_PATHS["boot_document"]]
    return [
        problem_of("hook-writes-in-place", path)
        for path in watched
        if re.search(rf">\s*[\"']?{re.escape(path)}(?![\w.-])", script)
    ]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
