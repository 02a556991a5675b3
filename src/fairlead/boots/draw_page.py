"""
A timeline as one HTML page: the drawing, and the same numbers as a table. No script at all.

A drawing that is shrunk to a telephone cannot be read: below NARROW pixels the page shows the same
bars as rows of a list instead.
"""

from __future__ import annotations

from fairlead.boots.boot import OWNERS, BootTimeline, Span, duration, with_own_causes
from fairlead.boots.draw_svg import (
    COLOURS,
    FONT,
    STOPPED_COLOUR,
    draw_svg,
    has_failed,
    xml_text,
)
from fairlead.contract.boot_report import DONE, SKIPPED, UNFINISHED

# The page may load nothing and run nothing, whatever a report smuggles into it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

# Pixels. Letters of the drawing are smaller than 8 pixels below this.
NARROW = 760

BARS = "".join(f".bar.{owner}{{background:{COLOURS[owner][0]}}}" for owner in OWNERS)
BARS += f".bar.failed{{background:{STOPPED_COLOUR[0]}}}.bar.skipped{{opacity:.35}}"

STYLE = f"""\
:root{{color-scheme:light dark}}
body{{margin:2rem auto;max-width:1120px;padding:0 1rem;font:14px/1.5 {FONT};\
background:#f1f5f9;color:#1e293b}}
h1{{font-size:1.3rem;margin-bottom:.2rem}}svg{{width:100%;height:auto}}
p{{margin:.2rem 0;overflow-wrap:anywhere}}p.verdict{{font-weight:600}}
.failed td,p.failed,.why{{color:{STOPPED_COLOUR[0]}}}
ol.bars{{display:none;list-style:none;padding:0}}ol.bars li{{margin:.5rem 0}}
.track{{background:#e2e8f0;height:10px;border-radius:3px}}
.bar{{height:10px;min-width:2px;border-radius:3px}}
.what{{display:flex;justify-content:space-between;gap:1rem;overflow-wrap:anywhere}}
.took{{white-space:nowrap;font-variant-numeric:tabular-nums}}.why{{overflow-wrap:anywhere}}
{BARS}
table{{border-collapse:collapse;width:100%;margin-top:1.5rem}}
th,td{{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #cbd5e1;vertical-align:top}}
td.n,th.n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
td.c{{overflow-wrap:anywhere}}td.w{{white-space:nowrap}}
p.owners{{display:none}}p.owners span{{display:inline-block;margin-right:.8rem}}
p.owners i{{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:.3rem}}
@media(prefers-color-scheme:dark){{body{{background:#020617;color:#e2e8f0}}\
th,td{{border-color:#263349}}.track{{background:#263349}}\
.failed td,p.failed,.why{{color:{STOPPED_COLOUR[1]}}}}}
@media(max-width:{NARROW}px){{body{{margin:1rem auto;padding:0 .6rem}}\
svg,table.spans{{display:none}}ol.bars,p.owners{{display:block}}}}
"""


def draw_page(timeline: BootTimeline) -> str:
    """Return the page."""
    timeline = with_own_causes(timeline)
    rows = "\n".join(_row(span) for span in timeline.spans)
    bars = "\n".join(_bar(span, timeline) for span in timeline.spans)
    failed = " failed" if any(has_failed(span) for span in timeline.spans) else ""
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{xml_text(timeline.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Where the time of this boot went</h1>
<p>{xml_text(timeline.title)}</p>
<p class="verdict{failed}">{xml_text(timeline.verdict)}</p>
{draw_svg(timeline)}
{_owners()}
<ol class="bars">
{bars}
</ol>
{_marks(timeline)}
<table class="spans">
<thead><tr><th>what</th><th>owner</th><th class="n">start</th><th class="n">took</th>
<th>outcome</th><th>cause</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</body>
</html>
"""


def _owners() -> str:
    """Return whose each colour is, for the list; the drawing says so itself."""
    shown = "".join(f'<span><i class="bar {owner}"></i>{owner}</span>' for owner in OWNERS)
    return f'<p class="owners">{shown}</p>'


def _marks(timeline: BootTimeline) -> str:
    if not timeline.marks:
        return ""
    rows = "\n".join(
        f"<tr><td>{xml_text(mark.name)}</td><td>{xml_text(mark.owner)}</td>"
        f'<td class="n">{duration(mark.at_ms)}</td></tr>'
        for mark in timeline.marks
    )
    return f"""\
<table>
<thead><tr><th>reached</th><th>owner</th><th class="n">after {xml_text(timeline.zero)}</th></tr>
</thead>
<tbody>
{rows}
</tbody>
</table>"""


def _row(span: Span) -> str:
    kind = ' class="failed"' if has_failed(span) else ""
    return (
        f'<tr{kind}><td class="w" style="padding-left:{0.6 + 1.2 * span.depth:g}rem">'
        f'{xml_text(span.name)}</td><td class="w">{xml_text(span.owner)}</td>'
        f'<td class="n">{duration(span.start_ms)}</td>'
        f'<td class="n">{duration(span.took_ms)}</td><td>{xml_text(span.outcome)}</td>'
        f'<td class="c">{xml_text(span.cause)}</td></tr>'
    )


def _bar(span: Span, timeline: BootTimeline) -> str:
    """Return a span as a row of a list: its name and time, a bar, and why it failed."""
    length = max(timeline.end_ms - timeline.begin_ms, 0.1)
    left = min(max((span.start_ms - timeline.begin_ms) / length, 0), 1) * 100
    width = min(max(span.took_ms / length, 0) * 100, 100 - left)
    kinds = [span.owner, "failed" if has_failed(span) else ""]
    kinds += ["skipped"] if span.outcome == SKIPPED else []
    took = "unfinished" if span.outcome == UNFINISHED else duration(span.took_ms)
    outcome = "" if span.outcome in (DONE, UNFINISHED) else f", {span.outcome}"
    why = f'<div class="why">{xml_text(span.cause)}</div>' if has_failed(span) else ""
    return (
        f'<li><div class="what"><span style="padding-left:{0.8 * span.depth:g}rem">'
        f'{xml_text(span.name)}</span><span class="took">{took}{xml_text(outcome)}</span></div>'
        f'<div class="track"><div class="bar {" ".join(kinds).strip()}" '
        f'style="margin-left:{left:.2f}%;width:{width:.2f}%"></div></div>{why}</li>'
    )
