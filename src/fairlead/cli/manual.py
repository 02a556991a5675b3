"""
Man pages and completion scripts, from the commands themselves, where a system looks for them.

`python -m fairlead.cli.manual PREFIX` writes them below PREFIX/share; `make manual` calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fairlead import __version__
from fairlead.cli.command_tree import Argument, Command, Flag, command_tree
from fairlead.cli.completion_scripts import script_for
from fairlead.cli.reference import EXIT_CODES

COMPLETIONS = {
    "bash": "bash-completion/completions/fairlead",
    "zsh": "zsh/site-functions/_fairlead",
    "fish": "fish/vendor_completions.d/fairlead.fish",
}

# Characters that man(7) would draw as something else, and what draws them as they are.
_DRAWN = str.maketrans(
    {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
)


def manual_files() -> dict[str, str]:
    """Return every file by its place below share/."""
    pages = {f"man/man1/{page_name(one)}.1": man_page(one) for one in command_tree().every()}
    return pages | {place: script_for(shell) for shell, place in COMPLETIONS.items()}


def install_manual(prefix: Path) -> list[Path]:
    """Write every file below PREFIX/share; return where."""
    written = []
    for place, text in manual_files().items():
        path = prefix / "share" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
        written.append(path)
    return written


def page_name(command: Command) -> str:
    """Return what a command's page is called: fairlead-pool-list."""
    return "-".join(command.words)


def man_page(command: Command) -> str:
    """Return the page of one command in man(7)."""
    says = command.purpose or command.description
    lines = [
        f'.TH {page_name(command).upper()} 1 "" "Fairlead {__version__}" "Fairlead"',
        ".SH NAME",
        f"{drawn(page_name(command))} \\- {drawn(says[:1].lower() + says[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {drawn(command.name)}",
        drawn(_synopsis(command)),
        ".SH DESCRIPTION",
        drawn(_sentence(command)),
        *_taken(command),
        *_commands(command),
        *_example(command),
        *(_exit_codes() if not command.children or len(command.words) == 1 else ()),
    ]
    return "".join(f"{line}\n" for line in lines if line)


def drawn(text: str) -> str:
    """Return text that man(7) draws as it is, with no line of it taken for a request."""
    lines = text.replace("%%", "%").translate(_DRAWN).splitlines()
    return "\n".join(f"\\&{line}" if line[:1] == "." else line for line in lines)


def _sentence(command: Command) -> str:
    said = command.description or command.purpose
    return said[:1].upper() + said[1:].rstrip(".") + "."


def _synopsis(command: Command) -> str:
    words = ["GROUP" if len(command.words) == 1 else "COMMAND"] if command.children else []
    words += [f"{flag.names[0]} {flag.value}".strip() for flag in command.flags if flag.is_needed]
    words += ["[FLAG...]"] if command.flags else []
    for argument in command.arguments:
        word = argument.name + ("..." if argument.is_many else "")
        words.append(word if argument.fewest else f"[{word}]")
    return " ".join(words)


def _taken(command: Command) -> Iterator[str]:
    if command.arguments or command.flags:
        yield ".SH OPTIONS"
    every: list[Argument | Flag] = [*command.arguments, *command.flags]
    for taken in every:
        yield ".TP"
        yield f".B {drawn(_label(taken))}"
        yield drawn(taken.says) or "\\&"


def _label(taken: Argument | Flag) -> str:
    if isinstance(taken, Argument):
        return taken.name
    return f"{', '.join(taken.names)} {taken.value}".strip()


def _commands(command: Command) -> Iterator[str]:
    if command.children:
        yield ".SH COMMANDS"
    for child in command.children:
        yield ".TP"
        yield f".BR {drawn(page_name(child))} (1)"
        yield drawn(child.purpose)


def _example(command: Command) -> Iterator[str]:
    if command.example:
        yield ".SH EXAMPLE"
        yield ".nf"
        yield drawn(command.example.rstrip())
        yield ".fi"


def _exit_codes() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, says in EXIT_CODES:
        yield ".TP"
        yield f".B {code}"
        yield drawn(says.replace("`", ""))


if __name__ == "__main__":
    for installed in install_manual(Path(sys.argv[1])):
        sys.stdout.write(f"{installed}\n")
