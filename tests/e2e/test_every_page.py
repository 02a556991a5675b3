"""Every block of shell on the README and in the howtos is run as printed: here, or elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.embedded.state_directory import StateDirectory
from hotfix_depot import SUITE, needs
from pages import run_script, script_of
from shared_cases import REPOSITORY

HOWTOS = REPOSITORY / "docs/howto"

# Pages that another test runs whole, as printed.
ELSEWHERE = {
    "backup-and-restore.md": "e2e/test_going_back.py",
    "bake-an-image.md": "boot/test_image_building.py",
    "read-a-boot.md": "process/test_pages_of_a_node.py",
    "roll-a-pool.md": "service/test_cli_documents.py",
    "run-on-kubernetes.md": "kube/test_install_page.py",
    "upgrade.md": "e2e/test_going_back.py",
    "user-data.md": "process/test_pages_of_a_node.py",
    "README.md: See it work": "e2e/test_story.py",
}
HERE = {
    "a-hotfix-went-wrong.md",
    "rotate-keys.md",
    "ship-a-hotfix.md",
    "README.md: On a node",
}
NOWHERE = {"README.md: Work on it": "these commands run all tests, this one among them"}

# What nobody runs here: it needs an image to boot, or changes this very computer.
LEFT_OUT = ('chroot "$IMAGE"', "--machines nspawn", "apt-get install", "fairlead-node ")

# /media is a drive of the test's own.
WITH_DRIVES = (
    "unshare", "--mount", "sh", "-ec", 'mount -t tmpfs tmpfs /media; exec "$@"', "drives",
)  # fmt: skip

# What a page about a hotfix takes for granted: a fix of these sources, and the files it names.
FIX = "202611.16.1"
PUBLISHED = f"""
fairlead keys init
fairlead hotfix region on local
fairlead hotfix build --version {FIX} --to build
fairlead hotfix publish build/*{FIX}* --summary 'wait for the disk'
"""
# A fix ends in one of these ways: what was withdrawn has nothing left to retire.
ENDS = ("hotfix withdraw", "hotfix retire")
SYSTEMS = ("ubuntu22.04", "ubuntu")
CUSTOM_DATA = """\
write_files:
- path: /opt/azure/containers/provision_source.sh
  permissions: "0744"
  content: |
    #!/bin/bash
"""
CHANGE = """\
--- a/src/fairlead/errors.py
+++ b/src/fairlead/errors.py
@@ -1,5 +1,5 @@
 \"\"\"
-The five errors, named for what the caller should do next.
+The five errors, mended.

 * FairleadError
   - InputError        a person must change something; retrying is pointless     exit 2
"""
FILES_OF_A_FIX = """
for made in build/fairlead-node-hotfix*; do
  if test -e "$made"; then cp "$made" "build/fix.${made##*.}"; fi
done
test -d /media/release || cp -r "$FAIRLEAD_STATE/hotfix-keys" /media/release
"""


def sections() -> dict[str, list[str]]:
    """The blocks of every page; those of the README by section."""
    found = {page.name: blocks_of(page.read_text()) for page in sorted(HOWTOS.glob("*.md"))}
    for section in (REPOSITORY / "README.md").read_text().split("\n## ")[1:]:
        found[f"README.md: {section.splitlines()[0]}"] = blocks_of(section)
    return {name: blocks for name, blocks in found.items() if blocks}


def blocks_of(text: str) -> list[str]:
    """The blocks of shell in a text, without the lines that nobody runs here."""
    found = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    kept = ["\n".join(one for one in block.splitlines() if not is_left_out(one)) for block in found]
    return [block for block in kept if block.strip()]


def is_left_out(line: str) -> bool:
    return any(part in line for part in LEFT_OUT)


def test_every_page_with_commands_is_run_somewhere() -> None:
    assert set(sections()) == ELSEWHERE.keys() | HERE | NOWHERE.keys()

    for page, test in ELSEWHERE.items():
        text = (REPOSITORY / "tests" / test).read_text()
        assert page.rpartition(": ")[2].removesuffix(".md") in text, (page, test)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The tree as it was committed, with the commands that `make` would install in it."""
    folder = tmp_path / "clone"
    clone = ["git", "clone", "--quiet", "--no-hardlinks", f"file://{REPOSITORY}", str(folder)]
    subprocess.run(clone, check=True, capture_output=True)
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    return folder


@pytest.mark.slow
@pytest.mark.root
def test_keys_are_taken_away_and_rotated_as_the_page_says(tmp_path: Path) -> None:
    needs(*SUITE)
    script = script_of(HOWTOS / "rotate-keys.md")

    ran = run_script(script, tmp_path, StateDirectory(tmp_path / "state"), *WITH_DRIVES)

    assert {code for code, _ in ran} == {0}, ran
    assert len(ran) == len(re.findall(r"^(?:\w+=\$\()?fairlead ", script, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize("block", sections()["a-hotfix-went-wrong.md"])
def test_whoever_has_a_fix_that_went_wrong_can_type_each_block(clone: Path, block: str) -> None:
    needs(*SUITE)
    # Each is a way of its own to go on from the same trouble; one begins with keys of its own.
    script = block if "keys init" in block else PUBLISHED + block

    ran = run_script(script, clone, StateDirectory(clone.parent / "state"), *WITH_DRIVES)

    assert {code for code, _ in ran} == {0}, ran


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize("end", ENDS)
def test_a_fix_is_shipped_and_ends_as_the_page_says(clone: Path, end: str) -> None:
    needs(*SUITE)
    (clone / "fix.diff").write_text(CHANGE)
    for place in ("custom.yml", *(f"fixes/{system}/nodecustomdata.yml" for system in SYSTEMS)):
        (clone / place).parent.mkdir(parents=True, exist_ok=True)
        (clone / place).write_text(CUSTOM_DATA)
    builder = [sys.executable, "deploy/node/build_agent.py", "agent"]
    subprocess.run(builder, cwd=clone, check=True, capture_output=True)
    [package] = (clone / "agent").glob("*.deb")
    package.rename(clone / "agent.deb")
    others = [other for other in ENDS if other != end]
    blocks = [
        block
        for block in sections()["ship-a-hotfix.md"]
        if not any(other in block for other in others)
    ]
    script = "\n".join(block + FILES_OF_A_FIX for block in blocks)

    ran = run_script(script, clone, StateDirectory(clone.parent / "state"), *WITH_DRIVES)

    assert {code for code, _ in ran} == {0}, ran
    assert any(words.startswith(end) for _, words in ran)


@pytest.mark.slow
def test_the_commands_about_a_node_work_as_the_readme_has_them(clone: Path) -> None:
    script = "\n".join(sections()["README.md: On a node"])

    run_script(script + "\nfairlead --version", clone, StateDirectory(clone.parent / "state"))

    assert list((clone / "build").glob("fairlead-node_*_all.deb"))
    assert (clone / "user-data").read_bytes()
