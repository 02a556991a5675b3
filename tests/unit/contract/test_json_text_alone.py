"""The reader of JSON tells what is wrong also where nobody imported `json`, as on a node."""

import subprocess
import sys
from pathlib import Path

import pytest

from shared_cases import REPOSITORY

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from fairlead.contract.json_text import parse_json
from fairlead.errors import InputError
assert "json" not in sys.modules
for text in (b'"a\\0"', b'{"a": "b', b'"\\\\x"', b"[1", b"{}"):
    try:
        parse_json(text)
        print("read")
    except InputError as error:
        print(error)
"""


def interpreters() -> list[str]:
    """This one, and those of other versions that pyenv has."""
    others = sorted(Path.home().glob(".pyenv/versions/3.1[0-9]*/bin/python3"))
    return [sys.executable, *map(str, others)]


@pytest.mark.parametrize("interpreter", interpreters())
def test_broken_strings_are_input_errors_without_the_json_module(interpreter: str) -> None:
    found = subprocess.run(
        [interpreter, "-I", "-S", "-c", PROGRAM, str(REPOSITORY / "src")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    # The rest of each message is the interpreter's own, and differs between versions.
    assert [line[:9] for line in found.stdout.splitlines()] == [*["not JSON:"] * 4, "read"], (
        found.stderr
    )
