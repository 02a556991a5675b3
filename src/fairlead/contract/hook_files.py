"""
How a boothook carries files: the lines that userdata writes, a shell runs, and the agent reads.

    put DIGEST PATH UNPACK <<'_FAIRLEAD_END_' || failed=1
    base64 of the file, or of its gzip
    _FAIRLEAD_END_

The agent reads them without a shell, so nothing here may need one: paths and digests hold nothing
that a shell would quote, and base64 cannot hold the end line.
"""

from __future__ import annotations

FIRST_LINE = "#cloud-boothook"

PUT = "put "
END = "_FAIRLEAD_END_"
HERE_DOCUMENT = f" <<'{END}' || failed=1"

# How a packed file is unpacked, as words of the shell.
UNPACK_PLAIN = "cat"
UNPACK_GZIP = "'gzip -dc'"


def put_line(digest: str, path: str, unpack: str) -> str:
    """Return the line that stands before a file's base64."""
    return f"{PUT}{digest} {path} {unpack}{HERE_DOCUMENT}"


def words_of_put_line(line: str) -> tuple[str, str, str] | None:
    """Return digest, path and unpack of such a line; None if it is another line."""
    if not (line.startswith(PUT) and line.endswith(HERE_DOCUMENT)):
        return None
    words = line[len(PUT) : -len(HERE_DOCUMENT)].split(" ", 2)
    return (
        (words[0], words[1], words[2]) if len(words) == len(("digest", "path", "unpack")) else None
    )
