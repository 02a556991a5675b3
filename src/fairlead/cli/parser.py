"""
The parser of all commands: bad usage is an error like any other, and says what was meant.

argparse has no public way to walk a parser, so its private names are used here and nowhere else.
"""

from __future__ import annotations

import argparse
import difflib
import math
import re

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LONG_FLAG = re.compile(r"(--[A-Za-z][A-Za-z0-9-]*)(=.*)?", re.ASCII | re.DOTALL)
MOST_CLOSE = 3
MOST_DIGITS = 18


class UsageError(InputError):
    """The words of a command line make no command; prog is how far they did."""

    def __init__(self, problem: str, prog: str, hint: str) -> None:
        super().__init__(problem, field=prog.partition(" ")[2], hint=hint)


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError. Its commands have parsers of this class too."""

    def __init__(self, *words: object, **named: object) -> None:
        super().__init__(*words, **named)  # type: ignore[arg-type]  # as it takes them
        # What argparse says of numbers has the names of our types in it, and takes nan and -5.
        self.register("type", int, _whole_number)
        self.register("type", float, _number)

    def error(self, message: str) -> None:  # type: ignore[override]  # it never returns there
        """Raise what argparse found, with where to read on."""
        raise UsageError(message, self.prog, f"{self.prog} --help says more")


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 0")
    return int(text)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number from 0")
    return number


def refuse_unusable(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Raise UsageError for a name that is empty, and for text that no control plane can read."""
    for action in parser._actions:  # noqa: SLF001
        given = getattr(arguments, action.dest, None)
        for text in given if isinstance(given, list) else [given]:
            name = "/".join(action.option_strings) or str(action.metavar or action.dest)
            if text == "" and not action.option_strings:
                problem = f"argument {name}: is empty, expected a name"
            elif isinstance(text, str) and not text.isascii() and _has_surrogates(text):
                problem = f"argument {name}: found {text!r}, which is not UTF-8"
            else:
                continue
            raise UsageError(problem, parser.prog, f"{parser.prog} --help says more")


def _has_surrogates(text: str) -> bool:
    return text.encode("utf-8", "ignore").decode() != text


def groups_of(
    parser: argparse.ArgumentParser,
) -> list[argparse._SubParsersAction[argparse.ArgumentParser]]:
    """Return where the commands below a parser are: in one place, or none."""
    actions = parser._actions  # noqa: SLF001
    return [action for action in actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands right below a parser, by name."""
    return {name: command for group in groups_of(parser) for name, command in group.choices.items()}


def purposes_of(
    group: argparse._SubParsersAction[argparse.ArgumentParser],
) -> list[tuple[str, str]]:
    """Return the names of commands, each with what it is for."""
    return [(action.dest, action.help or "") for action in group._choices_actions]  # noqa: SLF001


def shown_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the flags and arguments that --help shows."""
    groups: list[argparse.Action] = [*groups_of(parser)]
    actions = parser._actions  # noqa: SLF001
    return [a for a in actions if a not in groups and a.help != argparse.SUPPRESS]


def find_command(
    parser: argparse.ArgumentParser, words: list[str]
) -> tuple[argparse.ArgumentParser, list[str]]:
    """Return the command that the words name, and the words behind its name. Raises UsageError."""
    rest = list(words)
    while rest and not rest[0].startswith("-") and (known := commands_of(parser)):
        word = rest.pop(0)
        if word not in known:
            problem = f"there is no command {word!r}"
            raise UsageError(problem, parser.prog, meant(word, known, parser.prog))
        parser = known[word]
    return parser, rest


def refuse_unknown_flags(parser: argparse.ArgumentParser, words: list[str]) -> None:
    """Raise UsageError for the first long flag that a command does not take."""
    actions = parser._actions  # noqa: SLF001
    known = {name: action for action in actions for name in action.option_strings}
    for word in words:
        flag = LONG_FLAG.fullmatch(word)
        if word == "--" or (word in known and known[word].nargs == argparse.REMAINDER):
            return
        # argparse takes the beginning of a flag for the flag.
        if flag and not any(name.startswith(flag[1]) for name in known):
            problem = f"there is no flag {flag[1]}"
            raise UsageError(problem, parser.prog, meant(flag[1], known, parser.prog))


def meant(word: str, known: Iterable[str], prog: str) -> str:
    """Return what somebody who typed this may have meant, and where to read on."""
    close = difflib.get_close_matches(word, known, MOST_CLOSE)
    question = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{question}{prog} --help lists what there is"
