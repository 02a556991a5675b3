"""
A timeline as a self-contained SVG: nothing is loaded, nothing runs, light and dark.

Colours are classes with a media query, not CSS variables: viewers other than browsers draw the
light ones. Every text comes from a machine and goes through xml_text.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from fairlead.boots.boot import (
    CLOUD_INIT,
    FAIRLEAD,
    KUBERNETES,
    OWNERS,
    SYSTEMD,
    BootTimeline,
    Mark,
    Span,
    duration,
    with_own_causes,
)
from fairlead.contract.boot_report import DONE, SKIPPED, STOPPED, UNFINISHED
from fairlead.contract.visible_text import visible, without_errno

WIDTH = 1080
MARGIN = 20
LABELS = 220  # the width of the column of names
CHART = WIDTH - LABELS - 2 * MARGIN
ROW = 20
BAR = 13
HEADER = 88
LANE = 15
# Marks closer than their labels are wide go to the next lane; more lanes than this overlap.
MOST_LANES = 8
LETTER = 6.1  # the mean width of a letter at 11 px, generously

# owner: (bar in light, bar in dark). Distinct in both, and for the common colour blindnesses.
COLOURS = {
    SYSTEMD: ("#64748b", "#94a3b8"),
    CLOUD_INIT: ("#d97706", "#fbbf24"),
    FAIRLEAD: ("#2563eb", "#60a5fa"),
    KUBERNETES: ("#0d9488", "#2dd4bf"),
}
STOPPED_COLOUR = ("#dc2626", "#f87171")

STEPS_MS = tuple(base * 10**power for power in range(-1, 10) for base in (1, 2, 5))
MOST_TICKS = 8

FONT = "ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


def draw_svg(timeline: BootTimeline) -> str:
    """Return the drawing as an XML document."""
    timeline = with_own_causes(timeline)
    scale = _Scale(timeline.begin_ms, timeline.end_ms)
    lanes = _lanes(timeline.marks, scale)
    top = HEADER + (max(lanes, default=-1) + 1) * LANE + 14
    bottom = top + len(timeline.spans) * ROW + 4
    height = bottom + 34
    marks = [(mark, HEADER + lane * LANE) for mark, lane in zip(timeline.marks, lanes, strict=True)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="{_quoted(timeline.title)}">',
        f"<style>{_style()}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="10"/>',
        _text(MARGIN, 32, timeline.verdict, "title"),
        _text(MARGIN, 52, timeline.title, "faint"),
        *_legend(),
        *_stripes(timeline.spans, top),
        *_ticks(scale, top, bottom, timeline.zero),
        *(_mark_line(*placed, scale, bottom) for placed in marks),
        *(_mark_label(*placed, scale) for placed in marks),
        *(_row(span, scale, top + index * ROW) for index, span in enumerate(timeline.spans)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def xml_text(text: str) -> str:
    """Return the text as XML may hold it: markup escaped, and what is not printable spelled out."""
    return escape(visible(without_errno(text)))


def _quoted(text: str) -> str:
    return xml_text(text).replace('"', "&quot;")


class _Scale:
    """Maps milliseconds to pixels."""

    def __init__(self, begin_ms: float, end_ms: float) -> None:
        self.begin_ms = begin_ms
        self.length_ms = max(end_ms - begin_ms, 0.1)

    def x(self, ms: float) -> float:
        return round(MARGIN + LABELS + (ms - self.begin_ms) / self.length_ms * CHART, 2)

    def ticks(self) -> list[float]:
        step = next((s for s in STEPS_MS if self.length_ms / s <= MOST_TICKS), STEPS_MS[-1])
        first = -int(-self.begin_ms // step)
        last = int((self.begin_ms + self.length_ms) // step)
        return [number * step for number in range(first, last + 1)]


def _style() -> str:
    rules = [
        f"text{{font:12px {FONT};fill:#1e293b}}",
        ".title{font-size:17px;font-weight:600}.faint{font-size:11px;fill:#64748b}",
        ".number{font-size:11px;fill:#475569}.page{fill:#ffffff}.stripe{fill:#f8fafc}",
        ".grid{stroke:#e2e8f0;stroke-width:1}.zero{stroke:#94a3b8}",
        ".mark{stroke-width:1;stroke-dasharray:2 3;opacity:.75}.label{font-size:11px}",
        # A halo in the page's colour keeps numbers readable where a line crosses them.
        ".number,.label,.why{paint-order:stroke;stroke:#ffffff;stroke-width:3px}",
        ".inside{font-size:11px;fill:#ffffff}",
        ".part{opacity:.72}.skipped{opacity:.35}",
        # More to the point than the rule of its owner, whichever comes last.
        f"rect.failed{{fill:{STOPPED_COLOUR[0]}}}.why{{font-size:11px;fill:{STOPPED_COLOUR[0]}}}",
        *(_owner_rule(owner, 0) for owner in OWNERS),
        "@media(prefers-color-scheme:dark){text{fill:#e2e8f0}.faint{fill:#94a3b8}",
        ".number,.label,.why{stroke:#0f172a}.inside{fill:#0f172a}",
        ".number{fill:#cbd5e1}.page{fill:#0f172a}.stripe{fill:#131d33}.grid{stroke:#263349}",
        f".zero{{stroke:#64748b}}rect.failed,.why{{fill:{STOPPED_COLOUR[1]}}}",
        *(_owner_rule(owner, 1) for owner in OWNERS),
        "}",
    ]
    return "".join(rules)


def _owner_rule(owner: str, shade: int) -> str:
    colour = COLOURS[owner][shade]
    return f".{owner}{{fill:{colour}}}.{owner}-line{{stroke:{colour}}}"


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{xml_text(text)}</text>'


def _legend() -> list[str]:
    x = WIDTH - MARGIN - sum(len(owner) * LETTER + 32 for owner in OWNERS)
    parts = []
    for owner in OWNERS:
        parts.append(f'<rect class="{owner}" x="{x:.1f}" y="22" width="11" height="11" rx="2"/>')
        parts.append(_text(round(x + 16, 1), 32, owner, "number"))
        x += len(owner) * LETTER + 32
    return parts


def _stripes(spans: Sequence[Span], top: int) -> list[str]:
    """Shade every other row, so that the eye keeps to its line."""
    return [
        f'<rect class="stripe" x="{MARGIN - 8}" y="{top + index * ROW}" '
        f'width="{WIDTH - 2 * MARGIN + 16}" height="{ROW}" rx="3"/>'
        for index in range(0, len(spans), 2)
    ]


def _ticks(scale: _Scale, top: int, bottom: int, zero: str) -> list[str]:
    parts = []
    for ms in scale.ticks():
        x = scale.x(ms)
        kind = "grid zero" if ms == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{x}" y1="{top - 4}" x2="{x}" y2="{bottom}"/>')
        label = zero if ms == 0 else _tick_label(ms)
        parts.append(_text(x, bottom + 16, label, "number", "middle"))
    return parts


def _tick_label(ms: float) -> str:
    return f"{ms / 1000:g} s" if abs(ms) >= 1000 else f"{ms:g} ms"  # noqa: PLR2004 - ms in a second


def _lanes(marks: Sequence[Mark], scale: _Scale) -> list[int]:
    """Give each mark the first lane in which its label meets no other."""
    taken: list[float] = []
    lanes = []
    for mark in marks:
        left, right = _label_edges(mark, scale)
        lane = next((n for n, edge in enumerate(taken) if edge <= left), len(taken))
        lane = min(lane, MOST_LANES - 1)
        taken[lane : lane + 1] = [right]
        lanes.append(lane)
    return lanes


def _reached(mark: Mark) -> str:
    return f"{mark.name} {duration(mark.at_ms)}"


def _is_left_of_line(mark: Mark, scale: _Scale) -> bool:
    """A label that would leave the drawing stands before its line."""
    return scale.x(mark.at_ms) + len(_reached(mark)) * LETTER + 6 > WIDTH - MARGIN


def _label_edges(mark: Mark, scale: _Scale) -> tuple[float, float]:
    x, length = scale.x(mark.at_ms), len(_reached(mark)) * LETTER + 12
    return (x - length, x + 4) if _is_left_of_line(mark, scale) else (x, x + length)


def _mark_line(mark: Mark, y: int, scale: _Scale, bottom: int) -> str:
    x = scale.x(mark.at_ms)
    return f'<line class="mark {mark.owner}-line" x1="{x}" y1="{y}" x2="{x}" y2="{bottom}"/>'


def _mark_label(mark: Mark, y: int, scale: _Scale) -> str:
    x, reached = scale.x(mark.at_ms), _reached(mark)
    at, anchor = (x - 7, "end") if _is_left_of_line(mark, scale) else (x + 7, "start")
    return (
        f"<g><title>{xml_text(reached)} ({mark.owner})</title>"
        f'<path class="{mark.owner}" d="M{x} {y - 4}l4 4l-4 4l-4 -4z"/>'
        f"{_text(round(at, 2), y + 4, reached, 'label', anchor)}</g>"
    )


def _row(span: Span, scale: _Scale, y: int) -> str:
    left, right = scale.x(span.start_ms), scale.x(span.end_ms)
    width = max(right - left, 1.5)
    kinds = [span.owner, *(["part"] if span.depth > 1 else [])]
    kinds += ["skipped"] if span.outcome == SKIPPED else []
    kinds += ["failed"] if has_failed(span) else []
    bar = (
        f'<rect class="{" ".join(kinds)}" x="{left}" y="{y + (ROW - BAR) / 2}" '
        f'width="{width:.2f}" height="{BAR}" rx="2"/>'
    )
    indent = MARGIN + 14 * span.depth
    name = _text(indent, y + 14, span.name, "number" if span.depth else "name")
    number = _number(span, left, right, y + 14)
    return f"<g><title>{xml_text(_hover(span))}</title>{name}{bar}{number}</g>"


def has_failed(span: Span) -> bool:
    """Say whether a span stopped the boot, or never ended."""
    return span.outcome in (STOPPED, UNFINISHED)


def _number(span: Span, left: float, right: float, y: int) -> str:
    """
    Write how long it took behind the bar, or before it, or, where neither has room, on it.

    What failed says why as well, as much of it as there is room for; its hover text says all.
    """
    took = _took(span)
    kind = "why" if has_failed(span) else "number"
    said = f"{took}: {span.cause}" if has_failed(span) and span.cause else took
    behind = int((WIDTH - MARGIN - right - 6) / LETTER)
    before = int((left - MARGIN - LABELS - 6) / LETTER)
    if len(said) <= behind or (behind >= before and len(took) <= behind):
        return _text(round(right + 6, 2), y, _shortened(said, behind), kind)
    if len(took) <= before:
        return _text(round(left - 6, 2), y, _shortened(said, before), kind, "end")
    inside = int((right - left - 12) / LETTER)
    return _text(round(right - 6, 2), y, _shortened(said, max(inside, len(took))), "inside", "end")


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


def _took(span: Span) -> str:
    if span.outcome == UNFINISHED:
        return "unfinished"
    shown = duration(span.took_ms)
    return shown if span.outcome == DONE else f"{shown}, {span.outcome}"


def _hover(span: Span) -> str:
    said = f"{' / '.join(span.path)} ({span.owner}): {duration(span.start_ms)} to "
    said += f"{duration(span.end_ms)}, {_took(span)}"
    return f"{said}: {span.cause}" if span.cause else said
