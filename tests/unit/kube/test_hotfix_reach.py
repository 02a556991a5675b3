"""How far fixes came, by what machines said."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

from fairlead.contract.hotfix.answer import AKS_COMPONENT, OUR_COMPONENT
from fairlead.hotfix.campaign import Campaign, Schedule
from fairlead.hotfix.catalog import Fix, State
from fairlead.kube.shown.hotfixes import agents_of, hotfix_status, reach_of


def fix(version: str, component: str = OUR_COMPONENT, **more: object) -> Fix:
    return Fix(
        component=component,
        version=version,
        base="202611.17",
        schedule=Schedule.NORMAL,
        published_at=datetime(2026, 11, 18, tzinfo=UTC),
        packages=(),
        **more,  # type: ignore[arg-type]
    )


def machine(pool: str, agent: str) -> dict[str, object]:
    annotations = {"fairlead.dev/agent": agent} if agent else {}
    labels = {"fairlead.dev/pool": pool}
    return {"metadata": {"namespace": "default", "labels": labels, "annotations": annotations}}


BOOTED = agents_of(
    [
        machine("a", "202611.17.0"),
        machine("a", "202611.17.1"),
        machine("b", "202611.17.2"),
        machine("b", "202611.17.0"),
        machine("b", "202611.18.0"),
        machine("b", ""),
    ]
)


def test_a_later_fix_of_the_base_counts_and_other_bases_do_not() -> None:
    reach = reach_of(fix("202611.17.1"), BOOTED)

    assert (reach.have, reach.lacking) == (2, Counter({"default/a": 1, "default/b": 1}))
    assert reach_of(fix("202611.17.1", AKS_COMPONENT), BOOTED).lack == 0


def test_a_withdrawn_fix_reaches_nobody_and_says_why() -> None:
    withdrawn = fix("202611.17.1", state=State.WITHDRAWN, reason="it breaks disks")

    assert hotfix_status(withdrawn, reach_of(withdrawn, BOOTED)) == {
        "state": "withdrawn: it breaks disks",
        "reach": "nobody",
        "have": 2,
        "lack": 2,
        "lacking": ["default/a (1)", "default/b (1)"],
    }


def test_waves_are_told_as_their_publisher_opened_them() -> None:
    opened = fix("202611.17.1", wave=1)

    assert hotfix_status(opened, reach_of(opened, BOOTED))["reach"] == "wave 2 of 5 at least"


def test_a_campaign_that_is_counted_here_is_told_as_it_stands() -> None:
    opened = fix("202611.17.1")
    campaign = Campaign(
        version="202611.17.1", schedule=Schedule.NORMAL, started_at=opened.published_at, wave=2
    )
    halted = replace(campaign, halted="2 of 2 boots with it failed, 0 of 9 without it")
    reach = reach_of(opened, BOOTED)

    assert hotfix_status(opened, reach, campaign)["reach"] == "wave 3 of 5"
    told = hotfix_status(opened, reach, halted)
    assert told["state"] == "published, halted: 2 of 2 boots with it failed, 0 of 9 without it"
    assert told["reach"] == "nobody"
    # Whoever opened it to everyone did so in spite of that.
    for_all = fix("202611.17.1", everyone=True)
    assert hotfix_status(for_all, reach, halted)["state"] == "published"
