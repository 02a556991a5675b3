"""Man pages and completion scripts: one for every command, where a system looks for them."""

import re
import stat
from pathlib import Path

import pytest

from fairlead.cli.command_tree import command_tree
from fairlead.cli.manual import drawn, install_manual, manual_files

FILES = manual_files()
PAGES = {place: text for place, text in FILES.items() if place.startswith("man/")}
REQUESTS = {".TH", ".SH", ".TP", ".B", ".BR", ".nf", ".fi"}


def test_every_command_has_a_page_and_every_shell_a_script() -> None:
    names = {f"man/man1/{'-'.join(command.words)}.1" for command in command_tree().every()}

    assert set(PAGES) == names
    assert "man/man1/fairlead-rollout-undo.1" in names
    assert set(FILES) - names == {
        "bash-completion/completions/fairlead",
        "zsh/site-functions/_fairlead",
        "fish/vendor_completions.d/fairlead.fish",
    }


@pytest.mark.parametrize("place", PAGES)
def test_a_page_has_its_parts_and_no_request_by_accident(place: str) -> None:
    lines = PAGES[place].splitlines()

    assert lines[0].startswith(".TH FAIRLEAD")
    headings = [line[4:] for line in lines if line.startswith(".SH ")]
    assert headings[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
    assert {line.split()[0] for line in lines if line[:1] in (".", "'")} <= REQUESTS
    # man(7) knows no other escapes in these pages; an option is typed with a plain hyphen.
    assert set(re.findall(r"\\(\(..|.)", PAGES[place])) <= {
        "e", "-", "&", "(aq", "(ga", "(ha", "(ti",
    }  # fmt: skip


def test_what_a_page_would_obey_is_drawn() -> None:
    assert drawn(".so /etc/passwd\n'x -o \\ `^~") == (
        "\\&.so /etc/passwd\n\\(aqx \\-o \\e \\(ga\\(ha\\(ti"
    )


def test_the_manual_is_installed_where_a_system_looks_for_it(tmp_path: Path) -> None:
    written = install_manual(tmp_path / "usr")

    assert len(written) == len(FILES)
    page = tmp_path / "usr/share/man/man1/fairlead-pool-list.1"
    assert page.read_text() == PAGES["man/man1/fairlead-pool-list.1"]
    assert stat.S_IMODE(page.stat().st_mode) == 0o644
    zsh = tmp_path / "usr/share/zsh/site-functions/_fairlead"
    assert zsh.read_text().startswith("#compdef fairlead\n")
