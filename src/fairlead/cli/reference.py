"""
docs/reference/fairlead.md, from the commands themselves.

`python -m fairlead.cli.reference > docs/reference/fairlead.md` writes it again; a test compares.
The text of --help is not used: its layout differs between versions of Python.
"""

from __future__ import annotations

import sys

from fairlead.cli.command_tree import Argument, Command, Flag, command_tree

OPENING = """\
# fairlead

`fairlead GROUP COMMAND`. Every command prints this, and an example, with `--help`, or behind
`fairlead help`.
This page is generated: `python -m fairlead.cli.reference`.

stdout carries what was asked for and nothing else; questions, progress and errors go to stderr.
On a terminal tables have colours unless `NO_COLOR` is set; in a pipe they are aligned text.
What others wrote is never obeyed by a terminal: control characters, and those that turn the
direction of writing, are shown escaped, as `\\x1b` and `\\u202e`.

`--state DIR`, `-o FORMAT` and `--json` may stand before a command or behind it.
`--state DIR` chooses the control plane; otherwise `FAIRLEAD_STATE` does, otherwise
`~/.local/state/fairlead`.
`-o json` (or `--json`) and `-o yaml` print what the control plane answered, `-o name` only names,
one per line, `-o wide` tables with more columns. With the first three an error is a document too,
on stderr: `{"error": {"code", "kind", "problem", "field", "hint"}}`, and `problems` with line and
column if a file is wrong.

`fairlead` alone prints its help, a group without a command that group's help on stderr; both exit
with 2, since nothing was asked for.
"""

EXIT_CODES = (
    (0, "done; for `plan`: no machine would be disturbed; for `diff`: nothing differs"),
    (1, "you were asked and said no"),
    (2, "something that you wrote must change; a file's problems are listed by line and column"),
    (3, "a proof did not hold"),
    (4, "no answer in time; or a rollout waits for something that only a person can end"),
    (5, "somebody else wrote first, or the plan that was shown no longer holds"),
    (10, "`plan`: machines would be disturbed; `diff`: something differs"),
    (70, "a defect of ours"),
    (74, "stdout takes no more (a full disk); what was asked for may have been done"),
    (130, "Ctrl-C; a rollout that was followed goes on"),
    (141, "whoever read stdout left; what was asked for may have been done"),
    (143, "SIGTERM, as 130"),
)


def render_reference() -> str:
    """Return the whole page."""
    top = command_tree()
    parts = [OPENING, "\n## Exit codes\n\n| code | means |\n| --- | --- |\n"]
    parts += [f"| {code} | {says} |\n" for code, says in EXIT_CODES]
    parts += ["\n## Commands\n\n| command | does |\n| --- | --- |\n"]
    commands = [command for command in top.every() if not command.children]
    for command in commands:
        parts.append(f"| [`{_short(command)}`](#{_anchor(command)}) | {_purpose(command)} |\n")
    for command in commands:
        parts.append(_section(command))
    return "".join(parts)


def _purpose(command: Command) -> str:
    return _cell(command.purpose or command.description)


def _short(command: Command) -> str:
    return " ".join(command.words[1:])


def _anchor(command: Command) -> str:
    return "-".join(command.words)


def _section(command: Command) -> str:
    text = f"\n### {command.name}\n\n{_usage(command)}\n\n{_sentence(command)}\n"
    rows = [_argument_row(argument) for argument in command.arguments]
    rows += [_flag_row(flag) for flag in command.flags if "--help" not in flag.names]
    if rows:
        text += "\n| takes | |\n| --- | --- |\n" + "".join(rows)
    if command.example:
        text += f"\n```text\n{command.example.rstrip()}\n```\n"
    return text


def _sentence(command: Command) -> str:
    said = command.description or command.purpose
    return said[:1].upper() + said[1:].rstrip(".") + "."


def _usage(command: Command) -> str:
    words = [command.name]
    words += [f"{flag.names[0]} {flag.value}".strip() for flag in command.flags if flag.is_needed]
    for argument in command.arguments:
        word = argument.name + ("..." if argument.is_many else "")
        words.append(word if argument.fewest else f"[{word}]")
    return f"`{' '.join(words)}`"


def _argument_row(argument: Argument) -> str:
    return f"| `{_cell(argument.name)}` | {_cell(argument.says)} |\n"


def _flag_row(flag: Flag) -> str:
    names = ", ".join(flag.names)
    value = f" {flag.value}" if flag.value else ""
    return f"| `{_cell(names + value)}` | {_cell(flag.says)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("%%", "%")


if __name__ == "__main__":
    sys.stdout.write(render_reference())
