"""
The variables that a pre-rendered bootstrap command assigns, read without running it.

This follows how AKS's controller reads such a command, not how a shell would: a backslash quotes
nothing, quoted parts and bare parts join into one value, and a bare `NAME=` ends the value before
it, even in the middle of a word (`E="x"F=2` is two assignments). A quoted word that does not
belong to an assignment is passed over whole. Time is linear in the text, which may be hostile.
"""

from __future__ import annotations

SEPARATORS = " \t\n;"
QUOTES = "\"'"
DIGITS = "0123456789"
NAME_STARTS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
NAME_CHARACTERS = NAME_STARTS + DIGITS


def environment_of_nbc_command(text: str) -> dict[str, str]:
    """Return the value of every upper-case name that is assigned; the last assignment wins."""
    environment: dict[str, str] = {}
    at = 0
    while at < len(text):
        if text[at] in SEPARATORS:
            at += 1
            continue
        end = _end_of_run(text, at) if text[at] in NAME_STARTS else at
        if end > at and text.startswith("=", end):
            name = text[at:end]
            environment[name], at = _value_at(text, end + 1)
        else:
            at = _end_of_word(text, end)
    return environment


def _value_at(text: str, at: int) -> tuple[str, int]:
    """Return the value that starts here and where it ends."""
    pieces: list[str] = []
    while at < len(text) and text[at] not in SEPARATORS:
        if text[at] in QUOTES:
            end = _end_of_quote(text, at)
            pieces.append(text[at + 1 : end])
            at = end + 1
            continue
        end = _end_of_run(text, at)
        # A name cannot start with a digit: in `v1X=2` the digit belongs to the value.
        name = text[at:end].lstrip(DIGITS)
        if name and text.startswith("=", end):
            pieces.append(text[at : end - len(name)])
            return "".join(pieces), end - len(name)
        end = max(end, at + 1)
        pieces.append(text[at:end])
        at = end
    return "".join(pieces), at


def _end_of_word(text: str, at: int) -> int:
    while at < len(text) and text[at] not in SEPARATORS:
        at = _end_of_quote(text, at) + 1 if text[at] in QUOTES else at + 1
    return at


def _end_of_quote(text: str, at: int) -> int:
    """Return where the quote that opens here closes; an open end is closed by the text's end."""
    end = text.find(text[at], at + 1)
    return end if end >= 0 else len(text)


def _end_of_run(text: str, at: int) -> int:
    while at < len(text) and text[at] in NAME_CHARACTERS:
        at += 1
    return at
