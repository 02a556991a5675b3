"""The documents are true: what they name exists, and nothing names this machine."""

import re
import subprocess
from pathlib import Path

import pytest

from shared_cases import REPOSITORY

DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
LONGEST_README = 150
# Adjectives that a number should replace.
BANNED_WORDS = re.compile(
    r"\b(easy|easily|simply|powerful|robust|comprehensive|seamless|production-ready|leverage)\b",
    re.IGNORECASE,
)


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return [REPOSITORY / name for name in listed.stdout.splitlines()]


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def test_the_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= LONGEST_README


def anchors_of(document: Path) -> set[str]:
    """What a forge makes of headings: small letters, digits, hyphens for spaces."""
    prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_and_paths_in_documents_exist(document: Path) -> None:
    text = document.read_text()
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    anchors = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text)
    paths = re.findall(r"`((?:src|tests|docs|deploy|benchmarks|examples)/[\w./-]+)`", text)

    missing = [link for link in links if not (document.parent / link).exists()]
    missing += [path for path in paths if not (REPOSITORY / path).exists()]
    missing += [
        f"{link}#{anchor}"
        for link, anchor in anchors
        if anchor not in anchors_of(document.parent / link if link else document)
    ]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_documents_use_numbers_instead_of_adjectives(document: Path) -> None:
    assert BANNED_WORDS.findall(document.read_text()) == []


def test_the_tour_names_every_package_where_it_is_and_no_other() -> None:
    """A package has a line of its own, or a word in that of the package around it."""
    text = (REPOSITORY / "docs/tour.md").read_text()
    house = text.partition("src/fairlead/\n")[2].partition("```")[0]
    lines: dict[str, str] = {}
    around: list[str] = []
    for line in house.splitlines():
        if found := re.match(r"((?:│   |    )*)[├└]── (\S+) +(.*)", line):
            around = [*around[: len(found[1]) // 4], found[2].rstrip("/")]
            lines["/".join(around)] = found[3]
        else:
            lines["/".join(around)] += line
    sources = REPOSITORY / "src/fairlead"
    packages = [path.parent.relative_to(sources) for path in sources.rglob("*/__init__.py")]

    assert [name for name in lines if not (sources / name).exists()] == []
    assert [
        str(package)
        for package in packages
        if str(package) not in lines
        and not re.search(rf"\b{package.name}/", lines.get(str(package.parent), ""))
    ] == []


def test_every_make_command_of_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        named = set(re.findall(r"`make ([a-z-]+)", document.read_text()))
        named |= set(re.findall(r"^\s*make ([a-z-]+)", document.read_text(), re.MULTILINE))
        assert named - targets == set(), document


def test_every_command_of_the_agent_is_documented() -> None:
    from fairlead.agent.arguments import COMMANDS

    reference = (REPOSITORY / "docs/reference/fairlead-node.md").read_text()
    assert [command for command in COMMANDS if f"`{command}" not in reference] == []


def test_every_boot_stage_and_step_is_documented() -> None:
    from fairlead.agent.boot_stages import BOOT_STAGES
    from fairlead.agent.steps.table import NODE_STEPS

    reference = (REPOSITORY / "docs/reference/fairlead-node.md").read_text()
    names = [stage.name for stage in BOOT_STAGES] + [step.name for step in NODE_STEPS]
    assert [name for name in names if f"`{name}`" not in reference] == []


def test_no_file_names_the_machine_it_was_written_on() -> None:
    private = re.compile(rb"/(wor" + rb"k|far" + rb"m|roo" + rb"t)/[a-z.]|/hom" + rb"e/[a-z]")
    found = [
        name_of(path)
        for path in tracked_files()
        if path.is_file() and path.suffix != ".gz" and private.search(path.read_bytes())
    ]

    assert found == []
