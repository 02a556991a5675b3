"""
Completion scripts for three shells, from the tree of commands.

Each script walks the words before the cursor to the deepest command that they name, then offers
what may stand there. The walk is one `case` over all commands, so that nothing is parsed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.cli.command_tree import Command, Flag, command_tree

HEAD = "# {0} completion of fairlead; `fairlead completion {0}` prints it.\n"


def bash_script() -> str:
    """Return the script for bash 4 and later."""
    tree = command_tree()
    return (
        HEAD.format("bash")
        + "_fairlead() {\n"
        + '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"\n'
        + "    local place=fairlead choices= at\n"
        + "    for ((at = 1; at < COMP_CWORD; at++)); do\n"
        + '        case "$place ${COMP_WORDS[at]}" in\n'
        + f"            {_alternatives(tree)})\n"
        + '                place="$place ${COMP_WORDS[at]}" ;;\n'
        + "        esac\n"
        + "    done\n"
        + '    case "$place $before" in\n'
        + _bash_values(tree)
        + "    esac\n"
        + '    case "$place" in\n'
        + "".join(
            f"        {_quoted(command.name)})\n{_bash_choices(command)}"
            for command in tree.every()
        )
        + "    esac\n"
        + '    COMPREPLY=($(compgen -W "$choices" -- "$word"))\n'
        + "}\n"
        + "complete -F _fairlead fairlead\n"
    )


def zsh_script() -> str:
    """Return the script for zsh."""
    tree = command_tree()
    return (
        "#compdef fairlead\n"
        + HEAD.format("zsh")
        + "_fairlead() {\n"
        + '    local place=fairlead before="${words[CURRENT-1]}" at\n'
        + "    local -a choices\n"
        + "    for ((at = 2; at < CURRENT; at++)); do\n"
        + '        case "$place ${words[at]}" in\n'
        + f"            {_alternatives(tree)})\n"
        + '                place="$place ${words[at]}" ;;\n'
        + "        esac\n"
        + "    done\n"
        + '    case "$place $before" in\n'
        + _zsh_values(tree)
        + "    esac\n"
        + '    case "$place" in\n'
        + "".join(_zsh_choices(command) for command in tree.every())
        + "    esac\n"
        + "    _describe fairlead choices\n"
        + "}\n"
        + 'if [ "$funcstack[1]" = _fairlead ]; then _fairlead "$@"\n'
        + "else compdef _fairlead fairlead; fi\n"
    )


def fish_script() -> str:
    """Return the script for fish."""
    tree = command_tree()
    names = " ".join(_quoted(command.name) for command in tree.every() if command is not tree)
    lines = [
        "function __fairlead_at",
        "    set -l place fairlead",
        "    set -l typed (commandline -opc)",
        "    for word in $typed[2..-1]",
        '        switch "$place $word"',
        f"            case {names}",
        '                set place "$place $word"',
        "        end",
        "    end",
        '    test "$place" = "$argv[1]"',
        "end",
        "complete -c fairlead -f",
    ]
    for command in tree.every():
        lines += _fish_lines(command)
    return HEAD.format("fish") + "".join(line + "\n" for line in lines)


SCRIPTS: dict[str, Callable[[], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}


def _quoted(text: str) -> str:
    """Return a word that the three shells take as it is; help texts lose their quotes."""
    return "'" + text.replace("\\", "").replace("'", "") + "'"


def _alternatives(tree: Command) -> str:
    return "|".join(_quoted(command.name) for command in tree.every() if command is not tree)


def _words_of(command: Command) -> list[tuple[str, str]]:
    """Return what may stand behind a command, each with what it is for."""
    words = [(child.words[-1], child.purpose) for child in command.children]
    words += [(choice, "") for argument in command.arguments for choice in argument.choices]
    return words + [(flag.names[-1], flag.says) for flag in command.flags]


def _valued(tree: Command) -> Iterable[tuple[str, Flag]]:
    """Give each flag that takes a value, with the places and spellings where it stands."""
    for command in tree.every():
        for flag in command.flags:
            if flag.value:
                names = (_quoted(f"{command.name} {name}") for name in flag.names)
                yield "|".join(names), flag


def _takes_files(command: Command) -> bool:
    return any(argument.is_file for argument in command.arguments)


def _bash_values(tree: Command) -> str:
    text = ""
    for places, flag in _valued(tree):
        offer = "compopt -o default; COMPREPLY=()" if flag.is_file else "COMPREPLY=()"
        if flag.choices:
            offer = f'COMPREPLY=($(compgen -W {_quoted(" ".join(flag.choices))} -- "$word"))'
        text += f"        {places}) {offer}; return ;;\n"
    return text


def _bash_choices(command: Command) -> str:
    words = " ".join(word for word, _ in _words_of(command))
    files = "            compopt -o default\n" if _takes_files(command) else ""
    return f"{files}            choices={_quoted(words)} ;;\n"


def _zsh_values(tree: Command) -> str:
    text = ""
    for places, flag in _valued(tree):
        offer = "_files" if flag.is_file else f"_message {_quoted(flag.value)}"
        if flag.choices:
            offer = "compadd -- " + " ".join(_quoted(choice) for choice in flag.choices)
        text += f"        {places}) {offer}; return ;;\n"
    return text


def _zsh_choices(command: Command) -> str:
    words = " ".join(
        _quoted(f"{word}:{says}" if says else word) for word, says in _words_of(command)
    )
    files = "_files; " if _takes_files(command) else ""
    return f"        {_quoted(command.name)}) {files}choices=({words}) ;;\n"


def _fish_lines(command: Command) -> list[str]:
    at = f'complete -c fairlead -n "__fairlead_at {_quoted(command.name)}"'
    lines = [
        f"{at} -a {_quoted(child.words[-1])} -d {_quoted(child.purpose)}"
        for child in command.children
    ]
    for argument in command.arguments:
        if argument.choices:
            lines.append(f"{at} -a {_quoted(' '.join(argument.choices))}")
        elif argument.is_file:
            lines.append(f"{at} -F")
    return lines + [at + _fish_flag(flag) for flag in command.flags]


def _fish_flag(flag: Flag) -> str:
    text = "".join(
        f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in flag.names
    )
    if flag.choices:
        text += f" -x -a {_quoted(' '.join(flag.choices))}"
    elif flag.value:
        text += " -r -F" if flag.is_file else " -x"
    return text + f" -d {_quoted(flag.says)}"
