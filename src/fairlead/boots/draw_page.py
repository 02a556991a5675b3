"""A timeline as one HTML page: the drawing, and the same numbers as a table. No script at all."""

from __future__ import annotations

from fairlead.boots.boot import BootTimeline, Span, duration
from fairlead.boots.draw_svg import FONT, draw_svg, xml_text

# The page may load nothing and run nothing, whatever a report smuggles into it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

STYLE = f"""\
:root{{color-scheme:light dark}}
body{{margin:2rem auto;max-width:1120px;padding:0 1rem;font:14px/1.5 {FONT};\
background:#f1f5f9;color:#1e293b}}
h1{{font-size:1.3rem}}svg{{width:100%;height:auto}}
table{{border-collapse:collapse;width:100%;margin-top:1.5rem}}
th,td{{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #cbd5e1;vertical-align:top}}
td.n,th.n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
td.c{{overflow-wrap:anywhere}}
@media(prefers-color-scheme:dark){{body{{background:#020617;color:#e2e8f0}}\
th,td{{border-color:#263349}}}}
"""


def draw_page(timeline: BootTimeline) -> str:
    """Return the page."""
    rows = "\n".join(_row(span) for span in timeline.spans)
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
{draw_svg(timeline)}
{_marks(timeline)}
<table>
<thead><tr><th>what</th><th>owner</th><th class="n">start</th><th class="n">took</th>
<th>outcome</th><th>cause</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</body>
</html>
"""


def _marks(timeline: BootTimeline) -> str:
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
    return (
        f'<tr><td style="padding-left:{0.6 + 1.2 * span.depth:g}rem">{xml_text(span.name)}</td>'
        f'<td>{xml_text(span.owner)}</td><td class="n">{duration(span.start_ms)}</td>'
        f'<td class="n">{duration(span.took_ms)}</td><td>{xml_text(span.outcome)}</td>'
        f'<td class="c">{xml_text(span.cause)}</td></tr>'
    )
