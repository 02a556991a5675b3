"""Published fixes as people read them."""

from __future__ import annotations

from fairlead.cli.screens.blocks import BAD, GOOD, QUIET, Grid, Toned
from fairlead.hotfix.campaign import WAVES
from fairlead.hotfix.catalog import Catalog, Fix, State
from fairlead.hotfix.catalog_text import moment_text

STATE_TONES = {State.PUBLISHED: GOOD, State.WITHDRAWN: BAD, State.RETIRED: QUIET}


def fix_grid(catalog: Catalog) -> Grid:
    """Return a table of all fixes, the newest first."""
    rows = tuple(
        (
            fix.version,
            fix.component,
            Toned(fix.state.value, STATE_TONES[fix.state]),
            _speed(fix),
            moment_text(fix.published_at),
            " ".join(sorted(path.rpartition(".")[2] for path in fix.packages)),
            fix.reason or fix.summary,
        )
        for fix in reversed(catalog.fixes)
    )
    return Grid(("VERSION", "OF", "STATE", "SCHEDULE", "PUBLISHED", "AS", "SAYS"), rows)


def _speed(fix: Fix) -> str:
    if fix.everyone:
        return "everyone"
    opened = f", at least {WAVES[fix.wave][0]:.0%}" if fix.wave else ""
    return fix.schedule.value + opened
