"""Every report can be drawn, and no report can draw outside its lines."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.boots.boot import NAMES, BootTimeline, boot_timeline_of, timeline_fields
from fairlead.boots.compare import compare_boots
from fairlead.boots.draw_page import draw_page
from fairlead.boots.draw_svg import draw_svg, xml_text
from fairlead.boots.draw_text import draw_comparison, draw_text, printable
from fairlead.boots.medians import median_timeline, medians_of
from fairlead.contract.boot_report import OUTCOMES, BootReport, StageReport
from unit.boots.reports import make_fields, make_trixie, timeline_of

SVG = "{http://www.w3.org/2000/svg}"

times = st.one_of(
    st.floats(),
    st.integers(min_value=-(10**12), max_value=10**12),
    st.floats(min_value=-5000, max_value=100_000),
    st.sampled_from([None, True, "x", 10**400]),
)
entries = st.one_of(
    st.lists(times, max_size=3),
    st.tuples(times, times, st.just("failed")).map(list),
    st.none(),
)
names = st.one_of(st.text(), st.sampled_from(["provision", "agent", "provision/a", "a/b/c", "/"]))


@st.composite
def reports(draw: st.DrawFn) -> BootReport:
    """Reports as a broken, an old or a hostile machine might send them."""
    report = BootReport(draw(st.text()), agent=draw(st.text()), layout="x", started="now")
    report.took_ms = draw(st.floats())
    report.exit_code = draw(st.one_of(st.none(), st.integers()))
    number = st.floats()
    for _ in range(draw(st.integers(0, 6))):
        outcome, cause = draw(st.sampled_from(OUTCOMES)), draw(st.text())
        report.stages.append(StageReport(draw(names), draw(number), draw(number), outcome, cause))
    boot: dict[str, Any] = {"pid1_us": draw(st.integers(0, 10**7))}
    for group, name in draw(st.sets(st.sampled_from(sorted(NAMES)), max_size=8)):
        boot.setdefault(group, {})[name] = draw(entries)
    if draw(st.booleans()):
        report.facts = {"clock": {"monotonic_us": draw(st.integers(0, 10**8))}, "boot": boot}
    return report


@given(reports())
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
def test_spans_never_end_before_they_start(report: BootReport) -> None:
    timeline = boot_timeline_of(report)

    assert [span for span in timeline.spans if not span.start_ms <= span.end_ms] == []
    assert timeline_fields(timeline)["zero"] in ("PID 1", "the agent's start")


@given(reports(), st.integers(-5, 400))
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
def test_any_report_is_drawn_within_the_width(report: BootReport, width: int) -> None:
    timeline = boot_timeline_of(report)

    drawn = draw_text(timeline, width, shows_all=True)

    lines = drawn.splitlines()
    assert max(len(line) for line in lines) <= max(width, 40)
    assert len(lines) >= 3 + len(timeline.spans) + len(timeline.marks)
    assert drawn.replace("\n", "").isprintable()


@given(reports())
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
def test_any_report_becomes_well_formed_xml_with_every_name(report: BootReport) -> None:
    timeline = boot_timeline_of(report)

    drawn = draw_svg(timeline)
    root = parse_svg(drawn)

    texts = {element.text or "" for element in root.iter(f"{SVG}text")}
    wanted = {unescaped(xml_text(span.name)) for span in timeline.spans}
    assert wanted - texts == set()
    assert draw_page(timeline).encode()


def parse_svg(drawn: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawn.encode())  # noqa: S314 - our own text


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@given(st.lists(reports(), min_size=1, max_size=4))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
def test_any_reports_of_one_kind_have_medians_and_compare(found: list[BootReport]) -> None:
    timelines = [boot_timeline_of(report) for report in found]
    alike = [timeline for timeline in timelines if timeline.zero == timelines[0].zero]

    drawn = median_timeline(medians_of(alike))

    assert draw_svg(drawn)
    assert draw_comparison(compare_boots(alike[:1], alike), 100, shows_all=True)


def test_the_waterfall_looks_like_the_agents() -> None:
    fields = make_fields()
    fields["stages"] = fields["stages"][1:2]
    del fields["facts"]["boot"]["units"]
    del fields["facts"]["boot"]["cloud-init"]

    assert draw_text(timeline_of(fields), 80) == (
        "boot 49367305a828b5f7 of 2026-11-16T05:25:56.592Z, agent 202611.16.0, layout\n"
        "  fairlead\n"
        "provisioned 1.90 s after PID 1\n"
        "                                start      took  0.0 ms           2.50 s\n"
        "  whole boot                   0.0 ms    2.50 s │███████████████████████│\n"
        "  generators                  22.0 ms   76.0 ms │▋                      │\n"
        "  load units                  98.0 ms   50.0 ms │▍                      │\n"
        "  agent                      800.0 ms    1.10 s │       ██████████      │\n"
        "    provision/start-kubelet    1.10 s  250.0 ms │          ██▎          │\n"
    )


def test_what_is_reached_at_the_very_end_is_visible() -> None:
    fields = make_fields()
    del fields["facts"]["boot"]["systemd"]["startup"]

    (line,) = [
        line
        for line in draw_text(timeline_of(fields), 100).splitlines()
        if line.startswith("  cloud-init.target")
    ]

    assert line.endswith(" ◆│")


def test_short_parts_that_went_well_are_left_out_and_counted() -> None:
    drawn = draw_text(timeline_of(make_fields()), 120)

    assert "read-features" not in drawn
    assert drawn.endswith("  1 parts below 1 ms are not shown\n")


def test_a_short_part_that_stopped_is_shown_with_its_cause() -> None:
    fields = make_fields()
    cause = "kubelet is missing: install the kubelet package of pkgs.k8s.io"
    fields["stages"][0] = ["find-programs", 0.5, 0.1, "stopped", cause]

    drawn = draw_text(timeline_of(fields), 80)

    assert drawn.endswith(
        "  agent/find-programs stopped: kubelet is missing: install the kubelet package\n"
        "    of pkgs.k8s.io\n"
    )


def failed_step() -> BootTimeline:
    """A boot that a step of a stage stopped, as the agent reports it: three times."""
    fields = make_fields()
    fields["exit"] = 241
    fields["stages"] = [
        ["provision", 1.0, 9.0, "stopped", "step kubelet-config: the disk is full"],
        ["provision/kubelet-config", 2.0, 8.0, "stopped", "the disk is full"],
    ]
    return timeline_of(fields)


def test_the_cause_of_a_stopped_part_is_told_once() -> None:
    told = draw_text(failed_step(), 80)
    page = draw_page(failed_step())

    assert "\nfailed with exit code 241 " in told
    assert told.endswith(
        "  agent/provision stopped: step kubelet-config\n"
        "  agent/provision/kubelet-config stopped: the disk is full\n"
    )
    assert page.count('<div class="why">') == 3
    assert page.count('<div class="why">the disk is full</div>') == 1
    assert '<div class="why">step kubelet-config</div>' in page


def test_a_page_without_marks_has_no_table_of_them() -> None:
    bare = replace(failed_step(), marks=())

    assert "<th>reached</th>" in draw_page(failed_step())
    assert "<th>reached</th>" not in draw_page(bare)


def test_a_comparison_is_a_table_with_the_largest_first() -> None:
    found = compare_boots([timeline_of(make_fields())], [timeline_of(make_trixie())])

    lines = draw_comparison(found, 80).splitlines()

    assert lines[:3] == [
        "                                  A         B      B - A    B / A",
        "  ◆ cloud-init.target        2.47 s    1.28 s    -1.19 s   0.52 x ░░░░░░░░░░░░░",
        "  cloud-init final         652.0 ms   70.0 ms  -582.0 ms   0.11 x ░░░░░░",
    ]
    assert lines[-2:] == [
        "  cloud-init main                 -  350.0 ms",
        "  10 differences below 1 ms are not shown",
    ]


HOSTILE = "\x1b[2J<script>alert('x')</script>\x00&\"\ud800\n"


def hostile_timeline() -> BootTimeline:
    report = BootReport(HOSTILE, agent=HOSTILE, layout=HOSTILE, started=HOSTILE)
    report.exit_code = 0
    report.stages = [StageReport(HOSTILE, 1.0, 2.0, "stopped", HOSTILE)]
    return boot_timeline_of(report)


def test_a_hostile_name_cannot_move_the_cursor() -> None:
    drawn = draw_text(hostile_timeline(), 200)

    assert "\x1b" not in drawn
    assert printable("a\x1b[2Jb\nc") == r"a\x1b[2Jb\nc"


@pytest.mark.parametrize("draw", [draw_svg, draw_page])
def test_a_hostile_name_cannot_become_markup(draw: Any) -> None:
    drawn = draw(hostile_timeline())

    drawn.encode("utf-8")
    assert "<script" not in drawn
    assert "\x1b" not in drawn
    assert "&lt;script&gt;" in drawn


def test_a_drawing_loads_nothing_from_elsewhere() -> None:
    for drawn in (draw_svg(timeline_of(make_fields())), draw_page(timeline_of(make_fields()))):
        addresses = [word for word in drawn.split('"') if "://" in word]
        assert set(addresses) == {"http://www.w3.org/2000/svg"}
        assert "@import" not in drawn
        assert "url(" not in drawn


def test_a_drawing_knows_light_and_dark_and_explains_itself_on_hover() -> None:
    drawn = draw_svg(timeline_of(make_fields()))

    assert "@media(prefers-color-scheme:dark)" in drawn
    root = parse_svg(drawn)
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert "cloud-init network (cloud-init): 660.0 ms to 1.20 s, 543.0 ms" in titles
    assert (
        "agent / read-features (fairlead): 800.5 ms to 800.6 ms, 0.1 ms, skipped: no feature file"
        in titles
    )  # noqa: E501


def test_nothing_is_drawn_outside_the_drawing() -> None:
    root = parse_svg(draw_svg(timeline_of(make_fields())))
    width, height = float(root.get("width", "")), float(root.get("height", ""))

    for bar in root.iter(f"{SVG}rect"):
        x, y = float(bar.get("x", "0")), float(bar.get("y", "0"))
        assert 0 <= x <= x + float(bar.get("width", "")) <= width
        assert 0 <= y <= y + float(bar.get("height", "")) <= height


CAUSE = "kubelet is missing: " + "install the kubelet package " * 12


def failed_timeline(cause: str = CAUSE) -> BootTimeline:
    """A boot that one stage stopped, and in which another never ended."""
    fields = make_fields()
    fields["stages"][0] = ["find-programs", 0.5, 0.1, "stopped", cause]
    fields["stages"][1] = ["provision", 1.0, 0.0, "unfinished", ""]
    return timeline_of(fields)


def failed_bars(drawn: str) -> list[ElementTree.Element]:
    bars = parse_svg(drawn).iter(f"{SVG}rect")
    return [bar for bar in bars if "failed" in (bar.get("class") or "").split()]


def rules_of(style: str) -> dict[str, str]:
    """The light rules of a style sheet: what each selector fills with; a later one wins."""
    light = style.partition("@media")[0]
    found = re.findall(r"([^{}]+)\{[^{}]*?(?:fill|background):(#\w+)[^{}]*\}", light)
    return {one.strip(): colour for selector, colour in found for one in selector.split(",")}


def test_what_failed_is_red_whoever_it_belongs_to() -> None:
    drawn = draw_svg(failed_timeline())

    assert len(failed_bars(drawn)) == 2
    # An element and a class outweigh a class, so the rule of the owner cannot win.
    rules = rules_of(drawn[drawn.index("<style>") + 7 :])
    assert rules["rect.failed"] == "#dc2626"
    assert not [selector for selector in rules if selector.startswith("rect.fairlead")]
    assert failed_bars(draw_svg(timeline_of(make_fields()))) == []


def test_a_failed_bar_says_why_beside_it_and_in_full_on_hover() -> None:
    root = parse_svg(draw_svg(failed_timeline()))
    said = [text for text in root.iter(f"{SVG}text") if text.get("class") == "why"]
    hovers = [title.text or "" for title in root.iter(f"{SVG}title")]

    assert (said[0].text or "").startswith("0.1 ms, stopped: kubelet is missing: install")
    assert (said[0].text or "").endswith("…")
    for text in said:
        x, length = float(text.get("x", "")), len(text.text or "") * 6.1
        left = x - length if text.get("text-anchor") == "end" else x
        assert 0 <= left <= left + length <= 1080
    assert [hover for hover in hovers if hover.endswith(CAUSE)]


@pytest.mark.parametrize("draw", [lambda boot: draw_text(boot, 100), draw_svg, draw_page])
def test_no_drawing_of_a_boot_shows_the_number_of_a_system_error(
    draw: Callable[[BootTimeline], str],
) -> None:
    drawn = draw(failed_timeline("[Errno 21] Is a directory: '/etc/containerd'"))

    assert "Errno" not in drawn
    assert "Is a directory:" in drawn


def test_a_page_names_its_boot_and_marks_what_failed() -> None:
    page = draw_page(replace(failed_timeline(), title="workers-1 of the pool workers, boot 7"))

    assert "<title>workers-1 of the pool workers, boot 7</title>" in page
    assert "<p>workers-1 of the pool workers, boot 7</p>" in page
    assert '<p class="verdict failed">' in page
    assert page.count('<tr class="failed">') == 2
    assert page.count(f'<div class="why">{CAUSE}</div>') == 1
    assert ".bar.failed{background:#dc2626}" in page


def test_a_narrow_page_shows_bars_that_can_be_read_instead_of_a_shrunken_drawing() -> None:
    timeline = failed_timeline()
    page = draw_page(timeline)
    narrow = page[page.index("@media(max-width:760px)") :]

    assert "svg,table.spans{display:none}ol.bars,p.owners{display:block}" in narrow
    assert "ol.bars{display:none" in page[: page.index("@media")]
    bars = re.findall(r'class="bar ([a-z -]+)" style="margin-left:([\d.]+)%;width:([\d.]+)%"', page)
    assert len(bars) == len(timeline.spans)
    for _, left, width in bars:
        assert 0 <= float(left) <= float(left) + float(width) <= 100.01
    assert sum("failed" in kinds for kinds, _, _ in bars) == 2
    # Nothing there has a width of its own; long words break.
    assert not re.search(r"ol\.bars[^}]*width", page)
    assert "overflow-wrap:anywhere" in page
    assert 'name="viewport" content="width=device-width' in page
