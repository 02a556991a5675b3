"""
A timeline for a terminal: one line per span, with a bar where its time went.

The look is that of `fairlead-node report`, which draws the agent's part alone. Names and causes
come from a machine: what is not printable is shown escaped, so that no report moves the cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from fairlead.boots.boot import BootTimeline, Mark, Span, duration, with_own_causes
from fairlead.boots.compare import MARK, Difference
from fairlead.contract.boot_report import DONE, SKIPPED, STOPPED, UNFINISHED
from fairlead.contract.visible_text import visible, without_errno

# Eighths of a character cell, so that a 3 ms stage of a 2 s boot is still a visible sliver.
PARTS = " ▏▎▍▌▋▊▉█"
EIGHTHS = 8

LEAST_WIDTH = 40
# Below this there is no room for the start of a span, nor for a cause beside its bar.
NARROW = 60
LEAST_BAR = 10
NUMBER = 9
LONGEST_NAME = 32

# Two numbers of nine, the bar's two edges, and the spaces between.
FIXED_WIDTH = 2 * 9 + 2 + 4
# What outcome and cause get of the rest; in a narrow terminal they get what is left over.
CAUSE_SHARE = 0.25

# A part shorter than this that went as expected is left out, unless all is asked for.
SLIVER_MS = 1.0


def draw_text(timeline: BootTimeline, width: int, *, shows_all: bool = False) -> str:
    """Return the waterfall, no line longer than `width` (at least LEAST_WIDTH) characters."""
    timeline = with_own_causes(timeline)
    width = max(width, LEAST_WIDTH)
    is_narrow = width < NARROW
    spans = [span for span in timeline.spans if shows_all or not _is_sliver(span)]
    hidden = len(timeline.spans) - len(spans)
    rows: list[Span | Mark] = [*spans, *timeline.marks]
    longest = width - NUMBER - LEAST_BAR - 6 if is_narrow else LONGEST_NAME
    name_width = min(longest, max([4, *(len(_label(row)) for row in rows)]))
    fixed = 2 + NUMBER + 4 if is_narrow else FIXED_WIDTH
    share = 1.0 if is_narrow else 1 - CAUSE_SHARE
    chart = _Chart(
        timeline.begin_ms,
        timeline.end_ms,
        max(LEAST_BAR, int((width - name_width - fixed) * share)),
    )
    lines = [*_folded(timeline.title, width), *_folded(timeline.verdict, width)]
    heading = "" if is_narrow else f"{'start':>{NUMBER}} "
    lines.append(f"  {'':{name_width}} {heading}{'took':>{NUMBER}} {chart.scale()}")
    for row in _merged(spans, timeline.marks):
        numbers = _numbers(row)[NUMBER + 1 :] if is_narrow else _numbers(row)
        said = "" if is_narrow else f" {_said(row)}"
        lines.append(f"  {_short(_label(row), name_width)} {numbers} {chart.line(row)}{said}")
    if hidden:
        lines += _folded(f"  {hidden} parts below {SLIVER_MS:g} ms are not shown", width)
    lines += _why(timeline, width)
    return "\n".join(_cut(line, width).rstrip() for line in lines) + "\n"


def _folded(text: str, width: int) -> list[str]:
    return wrap(printable(text), width, subsequent_indent="  ") or [""]


def _short(name: str, width: int) -> str:
    """Return a name in just this many columns; what is cut off is marked."""
    return _cut(name, width).ljust(width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _why(timeline: BootTimeline, width: int) -> list[str]:
    """Return in full why the boot stopped: beside a bar there is room for a word or two."""
    lines = []
    for span in timeline.spans:
        # The verdict, two lines above the bars, is why the whole stopped.
        if span.outcome == STOPPED and span.cause and not timeline.verdict.startswith(span.cause):
            said = f"{'/'.join(span.path)} stopped: {span.cause}"
            lines += wrap(printable(said), width, initial_indent="  ", subsequent_indent="    ")
    return lines


def _is_sliver(span: Span) -> bool:
    """A skipped stage took no time either; what stopped or never ended is always shown."""
    return span.depth > 0 and span.took_ms < SLIVER_MS and span.outcome in (DONE, SKIPPED)


def _merged(spans: Sequence[Span], marks: Sequence[Mark]) -> list[Span | Mark]:
    """Put each mark before the first whole that starts after it; parts stay with their whole."""
    rows: list[Span | Mark] = []
    waiting = list(marks)
    for span in spans:
        while span.depth == 0 and waiting and waiting[0].at_ms <= span.start_ms:
            rows.append(waiting.pop(0))
        rows.append(span)
    return [*rows, *waiting]


def _label(row: Span | Mark) -> str:
    if isinstance(row, Mark):
        return printable(row.name)
    return "  " * row.depth + printable(row.name)


def _numbers(row: Span | Mark) -> str:
    if isinstance(row, Mark):
        return f"{duration(row.at_ms):>9} {'':>9}"
    took = "?" if row.outcome == UNFINISHED else duration(row.took_ms)
    return f"{duration(row.start_ms):>9} {took:>9}"


def _said(row: Span | Mark) -> str:
    if isinstance(row, Mark):
        return ""
    outcome = "" if row.outcome == DONE else row.outcome
    return "  ".join(word for word in (outcome, printable(row.cause)) if word)


class _Chart:
    """Maps milliseconds to character cells."""

    def __init__(self, begin_ms: float, end_ms: float, width: int) -> None:
        self._begin_ms = begin_ms
        self._length_ms = max(end_ms - begin_ms, 0.1)
        self._width = width

    def _cell(self, ms: float) -> int:
        cell = int((ms - self._begin_ms) / self._length_ms * self._width)
        return min(max(cell, 0), self._width - 1)

    def line(self, row: Span | Mark) -> str:
        if isinstance(row, Mark):
            drawn = " " * self._cell(row.at_ms) + "◆"
        else:
            share = row.took_ms / self._length_ms
            length = max(1, int(share * self._width * EIGHTHS))
            full, part = divmod(length, EIGHTHS)
            bar = PARTS[EIGHTHS] * full + (PARTS[part] if part else "")
            drawn = " " * self._cell(row.start_ms) + bar
        return "│" + drawn[: self._width].ljust(self._width) + "│"

    def scale(self) -> str:
        """Return where the drawing begins and ends; only its end where both have no room."""
        first, last = duration(self._begin_ms), duration(self._begin_ms + self._length_ms)
        if len(first) + len(last) >= self._width:
            return " " + last.rjust(self._width) + " "
        return " " + first + last.rjust(max(self._width - len(first), 0)) + " "


def draw_comparison(
    differences: Sequence[Difference], width: int, *, shows_all: bool = False
) -> str:
    """Return a table, the largest difference first."""
    width = max(width, LEAST_WIDTH)
    shown = [one for one in differences if shows_all or not _is_small(one)]
    names = [_compared_name(difference) for difference in shown]
    is_narrow = width < NARROW + 20
    longest = width - 23 if is_narrow else LONGEST_NAME + 12
    name_width = min(longest, max([4, *(len(name) for name in names)]))
    largest = max([0.1, *(abs(d.delta_ms) for d in shown if d.delta_ms is not None)])
    bar_width = 0 if is_narrow else max(0, min(30, width - name_width - 4 * 11))
    sides = "" if is_narrow else f"{'A':>{NUMBER}} {'B':>{NUMBER}} "
    lines = [f"  {'':{name_width}} {sides}{'B - A':>10} {'B / A':>8}"]
    for name, difference in zip(names, shown, strict=True):
        sides = "" if is_narrow else _both_sides(difference)
        delta_ms, ratio = difference.delta_ms, difference.ratio
        delta = "" if delta_ms is None else ("+" if delta_ms > 0 else "") + duration(delta_ms)
        quotient = "" if ratio is None else f"{ratio:.2f} x"
        bar = "" if delta_ms is None else _signed_bar(delta_ms, largest, bar_width)
        lines.append(f"  {_short(name, name_width)} {sides}{delta:>10} {quotient:>8} {bar}")
    if len(shown) < len(differences):
        hidden = len(differences) - len(shown)
        lines += _folded(f"  {hidden} differences below {SLIVER_MS:g} ms are not shown", width)
    return "\n".join(_cut(line.rstrip(), width) for line in lines) + "\n"


def _both_sides(difference: Difference) -> str:
    sides = (difference.a, difference.b)
    told = ["-" if side is None else duration(side.median_ms) for side in sides]
    return "".join(f"{side:>{NUMBER}} " for side in told)


def _is_small(difference: Difference) -> bool:
    return difference.delta_ms is not None and abs(difference.delta_ms) < SLIVER_MS


def _compared_name(difference: Difference) -> str:
    name = printable(difference.name)
    return f"◆ {name}" if difference.kind == MARK else name


def _signed_bar(delta_ms: float, largest_ms: float, width: int) -> str:
    """Return a bar; `░` where B is faster, `█` where it is slower."""
    cells = int(abs(delta_ms) / largest_ms * width)
    return ("█" if delta_ms > 0 else "░") * cells


def printable(text: str) -> str:
    """Return the text with everything escaped that would not be one visible character."""
    return visible(without_errno(text))
