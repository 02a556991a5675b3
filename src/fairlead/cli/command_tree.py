"""
Every command with its flags and arguments: what completion and the reference are made of.

argparse has no public way to walk a parser, so its private names are used here and nowhere else.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from fairlead.cli.main import GROUPS, add_group, make_parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag. `value` is what stands behind it, or ''."""

    names: tuple[str, ...]
    value: str
    says: str
    is_needed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One word that a command takes. `fewest`: 0 if it may be left out; `is_many`: may repeat."""

    name: str
    says: str
    fewest: int
    is_many: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command or group; a group has children, a command has what it takes."""

    words: tuple[str, ...]
    purpose: str
    description: str
    example: str
    flags: tuple[Flag, ...]
    arguments: tuple[Argument, ...]
    children: tuple[Command, ...]

    @property
    def name(self) -> str:
        """All its words, as they are typed."""
        return " ".join(self.words)

    def every(self) -> Iterator[Command]:
        """Give this command and all below it, in the order of --help."""
        yield self
        for child in self.children:
            yield from child.every()


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser of `fairlead` with every command of every group; imports all of them."""
    parser = make_parser([])
    for group in _groups_of(parser):
        for name, (place, _) in GROUPS.items():
            add_group(group.choices[name], place)
    return parser


def command_tree() -> Command:
    """Return `fairlead` with every command of every group."""
    return _command(whole_parser(), ("fairlead",), "")


def actions_of(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.Action]]:
    """Give every flag and argument below a parser, with the words of the command that takes it."""
    for action in _shown(parser):
        yield words, action
    for group in _groups_of(parser):
        for name, command in group.choices.items():
            yield from actions_of(command, (*words, name))


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], purpose: str) -> Command:
    actions = _shown(parser)
    return Command(
        words=words,
        purpose=purpose,
        description=parser.description or "",
        example=parser.epilog or "",
        flags=tuple(_flag(action) for action in actions if action.option_strings),
        arguments=tuple(_argument(action) for action in actions if not action.option_strings),
        children=tuple(
            _command(group.choices[name], (*words, name), says)
            for group in _groups_of(parser)
            for name, says in _purposes(group)
        ),
    )


def _groups_of(
    parser: argparse.ArgumentParser,
) -> list[argparse._SubParsersAction[argparse.ArgumentParser]]:
    actions = parser._actions  # noqa: SLF001
    return [action for action in actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001


def _shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the flags and arguments that --help shows."""
    groups: list[argparse.Action] = [*_groups_of(parser)]
    actions = parser._actions  # noqa: SLF001
    return [a for a in actions if a not in groups and a.help != argparse.SUPPRESS]


def _purposes(
    group: argparse._SubParsersAction[argparse.ArgumentParser],
) -> list[tuple[str, str]]:
    return [(action.dest, action.help or "") for action in group._choices_actions]  # noqa: SLF001


def _flag(action: argparse.Action) -> Flag:
    takes_value = action.nargs != 0
    return Flag(
        names=tuple(action.option_strings),
        value=_value_name(action) if takes_value else "",
        says=action.help or "",
        is_needed=action.required,
    )


def _value_name(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(str(choice) for choice in action.choices or ()) or action.dest.upper()


def _argument(action: argparse.Action) -> Argument:
    return Argument(
        name=_value_name(action),
        says=action.help or "",
        fewest=0 if action.nargs in ("?", "*") else 1,
        is_many=action.nargs in ("+", "*"),
    )
