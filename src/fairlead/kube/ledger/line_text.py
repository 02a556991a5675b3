"""A line as text in its object, and back. Whatever else is there is refused: it decides offers."""

from __future__ import annotations

import msgspec

from fairlead.answers.learned import learned
from fairlead.errors import UnavailableError
from fairlead.kube.ledger.line import Asked, Heard, Line
from fairlead.kube.ledger.shared_text import Form


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    campaigns: dict[str, tuple[str, int, int, str]]
    tallies: list[tuple[str, str, int, int]]
    asked: dict[str, tuple[str, float, bool]]
    heard: list[tuple[str, str, str, float, list[tuple[str, str, int, int]]]]
    reported: bool


def write_line(line: Line) -> str:
    """Return it as text."""
    text = _Text(
        campaigns=line.campaigns,
        tallies=[(*about, *count) for about, count in line.tallies.items()],
        asked={key: (one.version, one.at, one.waves) for key, one in line.asked.items()},
        heard=[
            (key, one.run, one.used, one.at, [(*a, *c) for a, c in one.said.items()])
            for key, one in line.heard.items()
        ],
        reported=line.has_reports,
    )
    return msgspec.json.encode(text).decode()


def read_line(text: str) -> Line:
    """Return what a text says. Raises UnavailableError if nobody of us wrote it."""
    if not text:
        return Line()
    try:
        found: _Text = msgspec.json.decode(text, type=learned(_Text))
    except msgspec.MsgspecError as error:
        raise UnavailableError(f"a ledger that is damaged: {error}") from error
    return Line(
        campaigns=found.campaigns,
        tallies={(version, epoch): (g, f) for version, epoch, g, f in found.tallies},
        asked={key: Asked(*fields) for key, fields in found.asked.items()},
        heard={
            key: Heard(run, used, at, {(v, e): (g, f) for v, e, g, f in said})
            for key, run, used, at, said in found.heard
        },
        has_reports=found.reported,
    )


LINE_FORM = Form(read=read_line, write=write_line)
