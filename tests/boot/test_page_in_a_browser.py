"""The page of a boot in a real browser, as wide as a telephone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairlead.boots.boot import BootTimeline
from fairlead.boots.draw_page import draw_page
from unit.boots.test_drawings import failed_timeline

pytestmark = pytest.mark.slow

NARROW = 500
DEADLINE_S = 120

# As little as a browser can be kept from doing.
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--virtual-time-budget=2000"),
)

# What the page itself may not run, and the test asks.
QUESTIONS = """\
<script>
const all = (what) => [...document.querySelectorAll(what)];
const seen = (one) => one.getClientRects().length > 0;
document.body.setAttribute("data-answers", JSON.stringify({
  scroll: document.documentElement.scrollWidth,
  inner: window.innerWidth,
  failed: all("ol.bars .bar.failed").filter(seen).map((b) => getComputedStyle(b).backgroundColor),
  others: all("ol.bars .bar:not(.failed)").filter(seen).map((b) =>
    getComputedStyle(b).backgroundColor),
  drawing: all("svg").filter(seen).length,
  smallest: Math.min(...all("ol.bars .what, ol.bars .why").map((one) =>
    parseFloat(getComputedStyle(one).fontSize))),
  tracks: [...new Set(all("ol.bars .track").map((one) => one.getBoundingClientRect().left))],
  owners: all("p.owners span").filter(seen).map((one) => one.textContent),
}));
</script>
"""


def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


def answers(timeline: BootTimeline, scratch: Path, width: int) -> dict[str, Any]:
    """What a browser of this width makes of the page."""
    page = re.sub(r"<meta http-equiv=.Content-Security-Policy.[^>]*>", "", draw_page(timeline))
    file = scratch / "page.html"
    file.write_text(page.replace("</body>", f"{QUESTIONS}</body>"))
    done = subprocess.run(
        [
            *(browser(), *FLAGS, f"--user-data-dir={scratch / 'profile'}"),
            *(f"--window-size={width},1400", "--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    found = re.search(r'data-answers="([^"]*)"', done.stdout)
    assert found is not None, done.stderr[-2000:]
    return dict(json.loads(found[1].replace("&quot;", '"')))


def long_timeline() -> BootTimeline:
    """A boot whose names and causes have no place to break."""
    made = replace(failed_timeline(), title="w" * 300)
    spans = [replace(span, path=(*span.path[:-1], span.name + "x" * 120)) for span in made.spans]
    return replace(made, spans=type(made.spans)(spans))


@pytest.mark.parametrize("make", [failed_timeline, long_timeline])
def test_a_telephone_shows_the_whole_page_without_scrolling_sideways(
    tmp_path: Path, make: Any
) -> None:
    found = answers(make(), tmp_path, NARROW)

    assert found["inner"] == NARROW
    assert found["scroll"] <= NARROW
    assert found["drawing"] == 0, "it would be too small to read"
    assert found["smallest"] >= 11


def test_what_failed_is_red_and_nothing_else_is(tmp_path: Path) -> None:
    found = answers(failed_timeline(), tmp_path, NARROW)

    assert found["failed"] == ["rgb(220, 38, 38)"] * 2
    assert "rgb(220, 38, 38)" not in found["others"]
    assert found["owners"] == ["systemd", "cloud-init", "fairlead", "kubernetes"]
    assert len(found["tracks"]) == 1, "bars of parts begin where those of the whole do"


def test_a_wide_page_has_the_drawing(tmp_path: Path) -> None:
    found = answers(failed_timeline(), tmp_path, 1200)

    assert found["drawing"] == 1
    assert found["scroll"] <= 1200
