"""Every command with its flags and arguments: what completion, pages and reference are made of."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from fairlead.cli.main import GROUPS, add_group, make_parser
from fairlead.cli.parser import groups_of, purposes_of, shown_actions


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
    for group in groups_of(parser):
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
    for action in shown_actions(parser):
        yield words, action
    for group in groups_of(parser):
        for name, command in group.choices.items():
            yield from actions_of(command, (*words, name))


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], purpose: str) -> Command:
    actions = shown_actions(parser)
    return Command(
        words=words,
        purpose=purpose,
        description=parser.description or "",
        example=parser.epilog or "",
        flags=tuple(_flag(action) for action in actions if action.option_strings),
        arguments=tuple(_argument(action) for action in actions if not action.option_strings),
        children=tuple(
            _command(group.choices[name], (*words, name), says)
            for group in groups_of(parser)
            for name, says in purposes_of(group)
        ),
    )


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
