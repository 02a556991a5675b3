"""Two threads that read the same type for the first time, in a process that may die of it."""

import subprocess
import sys

import pytest

# The annotation of Inner holds the first thread up in the middle of Outer.
PROGRAM = """
import threading, time, traceback
from dataclasses import dataclass
import msgspec
from fairlead.answers.text import decode, read_as
from fairlead.kept_text import parse_value

is_learning = threading.Event()

def slowly():
    if "type_info" in [frame.name for frame in traceback.extract_stack()]:
        return int  # to look at a type in Python takes no pointer
    is_learning.set()
    time.sleep(0.2)
    return int

{inner}
    number: "slowly()"

{outer}
    name: str
    inner: Inner
    more: str

TEXT = '{{"name":"a","inner":{{"number":1}},"more":"b"}}'
read = []
first = threading.Thread(target=lambda: read.append({reads}))
first.start()
assert is_learning.wait(10)
read.append({reads})
first.join()
assert [one.inner.number for one in read] == [1, 1]
"""

DATACLASSES = {"inner": "@dataclass\nclass Inner:", "outer": "@dataclass\nclass Outer:"}
STRUCTS = {"inner": "class Inner(msgspec.Struct):", "outer": "class Outer(msgspec.Struct):"}


@pytest.mark.parametrize(
    ("kinds", "reads"),
    [
        (DATACLASSES, "parse_value(Outer, TEXT)"),
        (STRUCTS, "decode(Outer, TEXT)"),
        (STRUCTS, "read_as(Outer, msgspec.json.decode(TEXT), 'spec')"),
    ],
    ids=["kept", "answer", "part of an answer"],
)
def test_a_type_is_read_by_nobody_before_all_of_it_is_known(
    kinds: dict[str, str], reads: str
) -> None:
    program = PROGRAM.format(**kinds, reads=reads)

    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
