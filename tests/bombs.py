"""User data that is small, and large once somebody unpacks, splits or parses it."""

import base64
import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

MIB = 1 << 20

# More than anybody unpacks, and as much as fits.
TOO_LARGE, JUST_FITS = 20, 15

CONFIG_PATH = "/etc/fairlead/node-config.json"
MIME = b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n"


def gzipped(pieces: Iterable[bytes]) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(piece) for piece in pieces) + packer.flush()


def filled(start: bytes, line: bytes, mib: int = JUST_FITS) -> bytes:
    """A gzip of a start, and of one line again and again."""
    return gzipped([start, *[line * (MIB // len(line))] * mib])


def nested_mime(depth: int) -> bytes:
    inside = b"#cloud-config\n"
    for level in range(depth):
        mark = b"B%d" % level
        head = b"Content-Type: multipart/mixed; boundary=" + mark
        inside = head + b"\n\n--" + mark + b"\n" + inside + b"\n--" + mark + b"--\n"
    return b"MIME-Version: 1.0\n" + inside


@cache
def make_bombs() -> dict[str, bytes]:
    """The bombs by name."""
    inner = base64.b64encode(filled(b"", b"\0" * 1024, TOO_LARGE - 5))
    many = 50
    hook_line = b"base64 -d <<'E' | gunzip > " + CONFIG_PATH.encode()
    ignition = {"path": CONFIG_PATH, "contents": {"compression": "gzip"}}
    ignition["contents"]["source"] = f"data:;base64,{inner.decode()}"  # type: ignore[index]
    document = {"ignition": {"version": "3.4.0"}, "storage": {"files": [ignition] * many}}
    entry = b"- path: " + CONFIG_PATH.encode() + b"\n  encoding: gz+b64\n  content: " + inner
    part = b"--B\nContent-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\n" + inner
    return {
        "gzip": filled(b"", b"\0" * 1024, TOO_LARGE),
        "gzip of gzip of gzip": gzipped([gzipped([filled(b"", b"\0" * 1024, TOO_LARGE)])]),
        "fifty parts": gzipped([MIME, (part + b"\n") * many, b"--B--\n"]),
        "fifty files of Ignition": gzipped([json.dumps(document).encode()]),
        "fifty files of write_files": gzipped(
            [b"#cloud-config\nwrite_files:\n", (entry + b"\n") * many]
        ),
        "fifty here-documents": gzipped(
            [b"#cloud-boothook\n#!/bin/sh\n", (hook_line + b"\n" + inner + b"\nE\n") * many]
        ),
        "one block of many lines": filled(
            b"#cloud-config\nwrite_files:\n- path: /a\n  encoding: b64\n  content: |\n",
            b"    QUJD\n",
        ),
        "entries without end": filled(b"#cloud-config\nwrite_files:\n", b"- path: /a\n"),
        "keys without end": filled(b"#cloud-config\nwrite_files:\n- path: /a\n", b"  a: b\n"),
        "here-documents without end": filled(b"#cloud-boothook\n", b"a<<E\nE\n"),
        "files of ours without end": filled(
            b"#cloud-boothook\n",
            b"put " + b"0" * 64 + b" /a cat <<'_FAIRLEAD_END_' || failed=1\nQUJD\n_FAIRLEAD_END_\n",
        ),
        "empty lines": filled(b"#cloud-config\n", b"\n"),
        "empty lines of a hook": filled(b"#cloud-boothook\n", b"\n"),
        "one folded header": filled(b"Content-Type: multipart/mixed;\n", b" a=b;\n"),
        "headers without end": filled(b"MIME-Version: 1.0\n", b"A: b\n"),
        "parts without end": filled(MIME, b"--B\n\n\n"),
        "parts within parts": nested_mime(200),
        "deep JSON": b'{"version":' + b"[" * 900 + b"]" * 900 + b"}",
        "deeper JSON": b'{"version":' + b"[" * 100_000,
        "lists without end": filled(b'{"version":[[]', b",[]"),
        "Ignition files without end": filled(b'{"ignition":{},"storage":{"files":[{}', b",{}"),
        "base64": filled(b"", b"QUJD"),
        "spaces": filled(b"", b" " * 1024),
    }


# Beside the interpreter and what it has loaded. Most is taken by values of JSON.
LARGEST_MIB = 200
LONGEST_S = 5

READ = """
import resource, sys, time
from {module} import {function} as read
with open(sys.argv[1], "rb") as file:
    data = file.read()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + ({mib} << 20),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, ({seconds} + 1,) * 2)
read(data)
"""


def read_within_limits(module: str, function: str, data: bytes) -> str:
    """Read this in a process with little memory and time; return how it failed, '' if not."""
    text = READ.format(module=module, function=function, mib=LARGEST_MIB, seconds=LONGEST_S)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "user-data"
        file.write_bytes(data)
        command = [sys.executable, "-c", text, str(file)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stderr[-300:] or ("" if ran.returncode == 0 else f"ended with {ran.returncode}")
