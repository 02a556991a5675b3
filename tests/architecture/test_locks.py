"""What is installed by lock is what pyproject.toml asks for."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from shared_cases import REPOSITORY

SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
GROUPS = SETTINGS["dependency-groups"]

ASKED = {
    "runtime": SETTINGS["project"]["dependencies"],
    "develop": [*SETTINGS["project"]["dependencies"], *GROUPS["test"], *GROUPS["check"]],
    "build": [*SETTINGS["build-system"]["requires"], *GROUPS["build"]],
}


def locked(name: str) -> dict[str, str]:
    text = (REPOSITORY / "locks" / f"{name}.txt").read_text()
    found = re.findall(r"^([\w.-]+)==(\S+)(?: ;[^\\]*)? \\\n +--hash=sha256:", text, re.MULTILINE)
    return {canonicalize_name(package): version for package, version in found}


@pytest.mark.parametrize("name", ["runtime", "develop", "build"])
def test_a_lock_has_a_version_that_pyproject_allows_of_all_that_it_asks_for(name: str) -> None:
    versions = locked(name)

    for requirement in map(Requirement, ASKED[name]):
        version = versions.get(canonicalize_name(requirement.name), "none")
        assert requirement.specifier.contains(version), f"{requirement}: make lock"


@pytest.mark.parametrize("name", ["runtime", "develop", "build"])
def test_nothing_in_a_lock_is_without_a_hash_or_from_somewhere_else(name: str) -> None:
    lines = (REPOSITORY / "locks" / f"{name}.txt").read_text().splitlines()

    assert [line for line in lines if "://" in line] == []
    assert len(locked(name)) == len([line for line in lines if not line.startswith(" ")])


def test_the_tools_that_a_lock_brings_are_of_the_same_versions_in_both_environments() -> None:
    runtime, develop = locked("runtime"), locked("develop")

    assert {name: develop.get(name) for name in runtime} == runtime
