"""
The containerd version out of `containerd --version`.

The output is NAME SOURCE VERSION COMMIT, and packages decorate VERSION: v2.0.0,
1.6.24-11-ubuntu1~24.04.1. Anything that is not three plain numbers then counts as not found.
"""

from __future__ import annotations

VERSION_FIELD = 2
VERSION_NUMBERS = 3


def containerd_version_of(output: str) -> str:
    """Return major.minor.patch; '' if the output holds no such version."""
    fields = output.split()
    if len(fields) <= VERSION_FIELD:
        return ""
    version = fields[VERSION_FIELD].removeprefix("v").partition("-")[0]
    numbers = version.split(".")
    if len(numbers) != VERSION_NUMBERS:
        return ""
    return version if all(part.isascii() and part.isdigit() for part in numbers) else ""
