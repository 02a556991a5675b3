"""Fixes that are broken, each in its own way, and what a boot says of them."""

from pathlib import Path

PROGRAM = "deploy/node/launcher.py"
PYTHON = "#!/usr/bin/python3 -ISXutf8\n"

# Each start takes one of 900 bytes out of a pipe, and all of them end after 30 s: a test that fails
# takes no machine.
MULTIPLYING = """import os, time
taking, giving = os.pipe()
os.write(giving, b"x" * 900)
os.set_blocking(taking, False)
end = time.monotonic() + 30
while time.monotonic() < end:
    try:
        os.read(taking, 1)
        if os.fork() == 0:
            os.setsid()
    except BlockingIOError:
        time.sleep(0.01)
"""

# Of an ELF header: where the machine stands, and the number of one that nobody here has.
ELF_MACHINE = 18
ANOTHER_MACHINE = (22).to_bytes(2, "little")  # IBM S/390


def crashes(tree: Path) -> None:
    """Dies by a signal at its first step."""
    _program(tree, "import os\nos.kill(os.getpid(), 11)\n")


def hangs(tree: Path) -> None:
    """Never answers, and leaves a child in a session of its own that never ends."""
    _program(
        tree,
        "import os, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork():\n        os._exit(0)\n"
        "time.sleep(3600)\n",
    )


def lies_about_its_version(tree: Path) -> None:
    """Says that it is another fix."""
    _program(tree, "print('202611.16.999')\n")


def is_truncated(tree: Path) -> None:
    """Ends in the middle of its program."""
    program = tree / PROGRAM
    text = program.read_text()
    program.write_text(text[: text.index("OTHERWISE") + 20])


def has_a_truncated_module(tree: Path) -> None:
    """Starts, but one of the modules that everything needs ends in the middle."""
    module = tree / "src/fairlead/agent/main.py"
    text = module.read_text()
    module.write_text(text[: len(text) // 2] + "\n(")


def is_for_another_machine(tree: Path) -> None:
    """A program of another processor."""
    content = bytearray(Path("/bin/true").resolve().read_bytes())
    content[ELF_MACHINE : ELF_MACHINE + 2] = ANOTHER_MACHINE
    _write_by_builder(tree, bytes(content))


def fails_its_self_test(tree: Path) -> None:
    """Everything works but the test of itself."""
    module = tree / "src/fairlead/agent/self_test.py"
    text = "\n\ndef prove_agent(run):\n    raise SystemExit('this agent cannot work here')\n"
    module.write_text(module.read_text() + text)


def bombs(tree: Path) -> None:
    """Starts processes without end, in sessions of their own."""
    _program(tree, MULTIPLYING)


BROKEN = {
    "crashes": (crashes, "staged agent fails version with exit code 139"),
    "hangs": (hangs, "staged agent hangs in version"),
    "lies about its version": (
        lies_about_its_version,
        "staged agent says version '202611.16.999', expected '{version}'",
    ),
    "is truncated": (is_truncated, "staged agent fails version with exit code 1"),
    "has a truncated module": (
        has_a_truncated_module,
        "staged agent fails version with exit code 1",
    ),
    "is for another machine": (
        is_for_another_machine,
        "staged agent does not start: [Errno 8] Exec format error",
    ),
    "fails its self-test": (fails_its_self_test, "staged agent fails self-test with exit code 1"),
    "is a fork bomb": (bombs, "tasks at once, of at most 256: proving staged agent {version}"),
}


def _program(tree: Path, body: str) -> None:
    (tree / PROGRAM).write_text(PYTHON + body)


def _write_by_builder(tree: Path, content: bytes) -> None:
    """Let the tree's own builder put these bytes in the program's place."""
    builder = tree / "deploy/node/build_agent.py"
    beside = tree / "deploy/node/program"
    beside.write_bytes(content)
    text = builder.read_text()
    wrote = 'program.write_text(LAUNCHER.read_text().replace("KEY = 0 ", f"KEY = {key} "))'
    assert wrote in text
    put = 'del key; program.write_bytes(LAUNCHER.with_name("program").read_bytes())'
    builder.write_text(text.replace(wrote, put))
