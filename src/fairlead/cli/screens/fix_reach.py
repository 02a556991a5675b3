"""How far fixes came, as people read it: waves, halts, who has them, and how boots ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.cli.screens.blocks import (
    BAD,
    GOOD,
    QUIET,
    STRONG,
    WAITING,
    Block,
    Cell,
    Grid,
    Toned,
    fact,
    line,
)
from fairlead.cli.screens.fixes import STATE_TONES
from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.decision.explain import moment
from fairlead.hotfix.campaign import LENGTHS, NEEDED, WAVES, Boots
from fairlead.hotfix.catalog import State
from fairlead.hotfix.service.fleet import Reach
from fairlead.telling.counted import counted

# AKS's own agents ask, and send no report.
UNKNOWN = "not known: agents of AKS send no boot report"


def reach_grid(reaches: Iterable[Reach]) -> Grid:
    """Return a table of fixes, and how far each came."""
    rows = tuple(
        (
            reach.fix.version,
            _state(reach),
            _offered(reach),
            str(reach.have) if is_told(reach) else "?",
            str(reach.lack) if is_told(reach) else "?",
            _failed(_sum(one.with_fix for one in reach.regions)),
            _failed(_sum(one.without for one in reach.regions)),
        )
        for reach in reaches
    )
    headings = ("VERSION", "STATE", "OFFERED TO", "HAVE", "LACK", "FAILED WITH", "FAILED WITHOUT")
    return Grid(headings, rows)


def reach_blocks(reach: Reach, lacking: Sequence[str]) -> list[Block]:
    """Return one fix in full. lacking: the first names of those that lack it."""
    facts: tuple[tuple[str, Cell], ...] = (
        ("of", f"{reach.fix.component}, images of {reach.fix.base}"),
        ("state", _state(reach)),
        ("why", Toned(_why(reach), BAD) if _why(reach) else ""),
        ("offered to", _offered(reach)),
        ("next", _next(reach)),
        ("under way", counted(reach.under_way, "boot") if reach.under_way else ""),
        ("have it", counted(reach.have, "machine") if is_told(reach) else UNKNOWN),
        ("lack it", _lacking(reach, lacking) if is_told(reach) else ""),
    )
    blocks: list[Block] = [line(Toned(f"{reach.fix.version}  {reach.fix.summary}", STRONG))]
    blocks += [fact(name, value, 12) for name, value in facts if value]
    if reach.regions:
        blocks += [line(), _region_grid(reach)]
    if reach.causes:
        blocks += [line(), line(Toned("why boots with it failed", STRONG))]
        rows = tuple((str(count), cause) for cause, count in reach.causes)
        blocks.append(Grid(("MACHINES", "CAUSE"), rows))
    return blocks


def is_told(reach: Reach) -> bool:
    """Say whether machines of this fix say how their boots ended."""
    return reach.fix.component == OUR_COMPONENT


def _region_grid(reach: Reach) -> Grid:
    rows = tuple(
        (one.region, str(one.have), str(one.lack), _failed(one.with_fix), _failed(one.without))
        for one in reach.regions
    )
    return Grid(("REGION", "HAVE", "LACK", "FAILED WITH", "FAILED WITHOUT"), rows)


def _state(reach: Reach) -> Toned:
    if reach.fix.state is State.PUBLISHED and reach.campaign.halted:
        return Toned("halted", BAD)
    return Toned(reach.fix.state.value, STATE_TONES[reach.fix.state])


def _why(reach: Reach) -> str:
    if reach.fix.state is not State.PUBLISHED:
        return reach.fix.reason
    if not reach.campaign.halted:
        return ""
    return f"{reach.campaign.halted}; `fairlead hotfix promote {reach.fix.version}` goes on"


def _offered(reach: Reach) -> Cell:
    if reach.fix.state is not State.PUBLISHED:
        return Toned("nobody", QUIET)
    if reach.fix.everyone:
        return Toned("everyone", GOOD)
    if reach.campaign.halted:
        return Toned("nobody", BAD)
    share = f"{reach.campaign.reach:.0%}"
    return Toned(share, GOOD if reach.campaign.reach == 1.0 else WAITING)


def _next(reach: Reach) -> str:
    """Return what the next wave waits for, or '' if there is none to come."""
    campaign = reach.campaign
    is_over = reach.fix.everyone or campaign.halted or campaign.wave + 1 >= len(WAVES)
    if is_over or reach.fix.state is not State.PUBLISHED:
        return ""
    share, at = WAVES[campaign.wave + 1]
    if not is_told(reach):
        return f"{share:.0%}, by `fairlead hotfix promote {reach.fix.version}` alone"
    opens = campaign.started_at + LENGTHS[campaign.schedule] * at
    needed = counted(NEEDED[campaign.wave], "good boot")
    return f"{share:.0%}, from {moment(opens)} on and after {needed} of this wave"


def _lacking(reach: Reach, lacking: Sequence[str]) -> str:
    if not lacking:
        return counted(reach.lack, "machine")
    more = ", ..." if reach.lack > len(lacking) else ""
    return f"{counted(reach.lack, 'machine')}: {', '.join(lacking)}{more}"


def _sum(boots: Iterable[Boots]) -> Boots:
    found = list(boots)
    return Boots(good=sum(one.good for one in found), failed=sum(one.failed for one in found))


def _failed(boots: Boots) -> Cell:
    if not boots.ended:
        return ""
    told = f"{boots.failed} of {boots.ended}"
    return Toned(told, BAD) if boots.failed else told
