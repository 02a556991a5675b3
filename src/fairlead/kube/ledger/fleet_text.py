"""A part of what is known of machines as text in its object, and back; never more than LARGEST."""

from __future__ import annotations

import msgspec

from fairlead.errors import UnavailableError
from fairlead.kube.ledger.fleet_part import Known, Part, Waiting, halve
from fairlead.kube.ledger.shared_text import Form

# Characters of one text.
LARGEST = 400_000


# Machines, those that asked, tallies, and what failed with which cause: by its number in the last.
_Text = tuple[
    dict[str, tuple[str, str, str, str, int]],
    dict[str, tuple[str, str, str, int]],
    list[tuple[str, str, str, int, int]],
    dict[str, dict[str, int]],
    list[str],
]


def write_part(part: Part) -> str:
    """Return it as text; where that is too long, without those heard of longest ago."""
    text = _text_of(part)
    while len(text) > LARGEST and (part.machines or part.asked or part.failed):
        halve(part)
        text = _text_of(part)
    return text


def read_part(text: str) -> Part:
    """Return what a text says. Raises UnavailableError if nobody of us wrote it."""
    if not text:
        return Part()
    try:
        machines, asked, tallies, failed, causes = msgspec.json.decode(text, type=_Text)
        told = {
            name: {version: causes[number] for version, number in one.items()}
            for name, one in failed.items()
        }
    except (msgspec.MsgspecError, IndexError) as error:
        raise UnavailableError(f"what is known of machines is damaged: {error}") from error
    return Part(
        machines={name: Known(*one) for name, one in machines.items()},
        asked={name: Waiting(*one) for name, one in asked.items()},
        tallies={(base, version, region): (g, f) for base, version, region, g, f in tallies},
        failed=told,
    )


def _text_of(part: Part) -> str:
    numbers: dict[str, int] = {}
    for causes in part.failed.values():
        for cause in causes.values():
            numbers.setdefault(cause, len(numbers))
    text: _Text = (
        {
            name: (one.base, one.region, one.used, one.run, one.at)
            for name, one in part.machines.items()
        },
        {name: (one.version, one.base, one.region, one.at) for name, one in part.asked.items()},
        [(*about, *count) for about, count in part.tallies.items()],
        {
            name: {version: numbers[cause] for version, cause in causes.items()}
            for name, causes in part.failed.items()
        },
        list(numbers),
    )
    return msgspec.json.encode(text).decode()


PART_FORM = Form(read=read_part, write=write_part)
