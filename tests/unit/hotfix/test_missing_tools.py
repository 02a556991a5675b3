"""What is not installed is named with the package that has it, before anything is written."""

import shutil
from pathlib import Path

import pytest

from fairlead.cli.main import run_command
from fairlead.errors import UnavailableError
from fairlead.hotfix.publish.programs import run
from hotfix_depot import needs, tiny_packages


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with dpkg-deb, and what it needs, alone."""
    needs("dpkg-deb")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("dpkg-deb", "tar", "rm"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))
    return tmp_path


def test_without_rpmbuild_there_is_a_deb_and_a_warning(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_packages(bare, "202611.16.1")
    tree = bare / "tree-202611.16.1-"
    words = ["hotfix", "build", "--version", "202611.16.2", "--tree", str(tree)]

    assert run_command([*words, "--to", str(bare / "output")]) == 0

    said = capsys.readouterr()
    assert said.out == f"{bare}/output/fairlead-node-hotfix_202611.16.2_all.deb\n"
    assert said.err == (
        "fairlead: warning: rpmbuild is not installed here, so no .rpm was made (Debian: rpm)\n"
    )


def test_publishing_without_its_tools_names_what_to_install(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = bare / "fix.rpm"
    package.write_bytes(b"")
    words = ["hotfix", "publish", str(package), "--depot", str(bare / "depot")]

    assert run_command(words) == 2

    assert capsys.readouterr().err == (
        "fairlead: not installed here: gpg, gpg-agent, gpgconf, rpm, rpmsign, createrepo_c "
        "(Debian: apt install createrepo-c gnupg rpm)\n"
    )
    assert not (bare / "depot").exists()


def test_a_tool_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    needs("dpkg-deb")
    with pytest.raises(UnavailableError, match=r"dpkg-deb ended with 2: .*No such file"):
        run(["dpkg-deb", "--info", tmp_path / "none.deb"])
