"""The catalog never goes back, and what does not fit its shape is refused with the place."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import InputError
from fairlead.hotfix.campaign import Schedule
from fairlead.hotfix.catalog import (
    Catalog,
    Fix,
    State,
    add_base,
    promote,
    publish,
    remove_base,
    retire,
    switch_region,
    withdraw,
)
from fairlead.hotfix.catalog_text import parse_catalog, render_catalog

NOW = datetime(2026, 11, 18, tzinfo=UTC)

WRITTEN = """\
{"format": 1,
 "regions": {"local": true},
 "bases": ["202611.16"],
 "fixes": [{"component": "fairlead-node", "version": "202611.16.3", "base": "202611.16", "state": "published",
            "schedule": "normal", "published_at": "2026-11-18T00:00:00Z", "reason": "", "summary": "one line", "everyone": false,
            "resumed_at": "", "packages": ["apt/pool/fairlead-node-hotfix_202611.16.3_all.deb", "rpm/fairlead-node-hotfix-202611.16.3-1.noarch.rpm"]}]}
"""  # noqa: E501


def fix(version: str, component: str = "fairlead-node") -> Fix:
    return Fix(
        component=component,
        version=version,
        base=version.rpartition(".")[0],
        schedule=Schedule.NORMAL,
        published_at=NOW,
        packages=(f"apt/pool/fairlead-node-hotfix_{version}_all.deb",),
    )


BASE = Catalog(bases=("202611.16",))


def test_a_written_catalog_is_read_to_the_letter() -> None:
    catalog = parse_catalog(WRITTEN.encode())

    assert catalog.is_on("local")
    assert not catalog.is_on("elsewhere")
    assert catalog.bases == ("202611.16",)
    assert catalog.fixes == (
        Fix(
            component="fairlead-node",
            version="202611.16.3",
            base="202611.16",
            schedule=Schedule.NORMAL,
            published_at=NOW,
            summary="one line",
            packages=(
                "apt/pool/fairlead-node-hotfix_202611.16.3_all.deb",
                "rpm/fairlead-node-hotfix-202611.16.3-1.noarch.rpm",
            ),
        ),
    )
    assert json.loads(render_catalog(catalog)) == json.loads(WRITTEN)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("format",), True),
        (("regions",), []),
        (("regions",), {"local": 1}),
        (("regions",), {"../up": True}),
        (("bases",), ["202611.16.0"]),
        (("bases",), ["2026.1"]),
        (("fixes", 0, "component"), "kubelet"),
        (("fixes", 0, "version"), "202611.17.3"),
        (("fixes", 0, "version"), " 202611.16.3"),
        (("fixes", 0, "version"), 3),
        (("fixes", 0, "state"), "gone"),
        (("fixes", 0, "schedule"), "soon"),
        (("fixes", 0, "published_at"), "2026-11-18"),
        (("fixes", 0, "published_at"), "2026-11-18T00:00:00+01:00"),
        (("fixes", 0, "reason"), "two\nlines"),
        (("fixes", 0, "summary"), "\x1b[31mred"),
        (("fixes", 0, "summary"), "x" * 501),
        (("fixes", 0, "everyone"), "no"),
        (("fixes", 0, "packages"), ["apt/pool/../../keys/online.pem"]),
        (("fixes", 0, "packages"), ["/etc/passwd.deb"]),
        (("fixes", 0, "wave"), 5),
        (("fixes", 0, "wave"), -1),
        (("fixes", 0, "more"), 1),
        (("more",), 1),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(path: tuple[str | int, ...], value: object) -> None:
    document: Any = json.loads(WRITTEN)
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value

    with pytest.raises(InputError):
        parse_catalog(json.dumps(document).encode())


def test_a_name_or_a_version_that_stands_twice_is_refused() -> None:
    with pytest.raises(InputError, match="each of these once"):
        parse_catalog(WRITTEN.replace('"format": 1,', '"format": 1, "format": 1,').encode())
    document = json.loads(WRITTEN)
    document["fixes"] *= 2
    with pytest.raises(InputError, match="a version stands twice"):
        parse_catalog(json.dumps(document).encode())


def test_a_catalog_larger_than_any_is_refused_before_it_is_read() -> None:
    with pytest.raises(InputError, match="has 8388609 bytes"):
        parse_catalog(b" " * ((8 << 20) + 1))


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("202611.16.3", "was published before for fairlead-node, and is published"),
        ("202611.16.2", "is not higher than 202611.16.3, which is published"),
        ("202611.17.9", "no supported image has the base 202611.17; supported: 202611.16"),
        ("202611.16.04", "expected 202611.16.PATCH"),
    ],
)
def test_nothing_is_published_that_goes_back_or_that_nobody_needs(version: str, told: str) -> None:
    catalog = publish(BASE, fix("202611.16.3"))

    with pytest.raises(InputError, match=told):
        publish(catalog, fix(version))


def test_a_withdrawn_version_still_counts_as_published_before() -> None:
    catalog = withdraw(publish(BASE, fix("202611.16.3")), "202611.16.3", "it broke boots")

    with pytest.raises(InputError, match="higher PATCH"):
        publish(catalog, fix("202611.16.3"))
    with pytest.raises(InputError, match=r"build it as 202611\.16\.4"):
        publish(catalog, fix("202611.16.1"))
    assert publish(catalog, fix("202611.16.10")).packages() == (
        "apt/pool/fairlead-node-hotfix_202611.16.10_all.deb",
    )
    assert catalog.packages() == ()
    assert catalog.revoked() == ("202611.16.3",)


def test_a_version_belongs_to_one_component() -> None:
    """Nodes revoke by version alone."""
    catalog = publish(BASE, fix("202611.16.3"))

    with pytest.raises(InputError, match="was published before for fairlead-node"):
        publish(catalog, fix("202611.16.3", "aksNodeController"))
    assert publish(catalog, fix("202611.16.2", "aksNodeController")).find("202611.16.2")


def test_a_fix_is_not_retired_while_a_supported_base_needs_it() -> None:
    catalog = publish(BASE, fix("202611.16.3"))

    with pytest.raises(InputError, match=r"fairlead hotfix bases remove 202611\.16"):
        retire(catalog, "202611.16.3")
    retired = retire(remove_base(catalog, "202611.16"), "202611.16.3")
    assert retired.fixes[0].state is State.RETIRED
    assert retired.packages() == ()
    assert retired.revoked() == ()


def test_a_fix_is_retired_once_a_newer_one_of_its_base_is_for_everyone() -> None:
    catalog = publish(publish(BASE, fix("202611.16.3")), fix("202611.16.4"))
    # The newer one comes in waves: who is not in them needs the older one.
    with pytest.raises(InputError, match=r"no newer fix of that base is for everyone"):
        retire(catalog, "202611.16.3")

    promoted = promote(catalog, "202611.16.4", NOW, everyone=True)

    assert retire(promoted, "202611.16.3").packages() == promoted.fixes[1].packages
    with pytest.raises(InputError, match=r"no newer fix of that base is for everyone"):
        retire(promoted, "202611.16.4")
    gone = withdraw(promoted, "202611.16.4", "it broke")
    with pytest.raises(InputError, match=r"no newer fix of that base is for everyone"):
        retire(gone, "202611.16.3")


def test_a_fix_of_another_component_takes_no_ones_place() -> None:
    catalog = publish(BASE, fix("202611.16.3"))
    other = publish(catalog, fix("202611.16.4", "aksNodeController"))

    with pytest.raises(InputError, match=r"no newer fix of that base is for everyone"):
        retire(promote(other, "202611.16.4", NOW, everyone=True), "202611.16.3")


def test_promoting_opens_one_wave_more_and_forgets_the_boots_before() -> None:
    catalog = promote(publish(BASE, fix("202611.16.3")), "202611.16.3", NOW)
    assert (catalog.fixes[0].wave, catalog.fixes[0].resumed_at) == (1, NOW)
    assert not catalog.fixes[0].everyone

    for _ in range(9):
        catalog = promote(catalog, "202611.16.3", NOW)
    assert catalog.fixes[0].wave == 4

    assert promote(catalog, "202611.16.3", NOW, everyone=True).fixes[0].everyone
    with pytest.raises(InputError, match="cannot reach more machines"):
        promote(withdraw(catalog, "202611.16.3", "why"), "202611.16.3", NOW)


def test_what_was_never_published_cannot_be_changed() -> None:
    with pytest.raises(InputError, match="was never published here"):
        withdraw(BASE, "202611.16.9", "why")
    with pytest.raises(InputError, match="say why"):
        withdraw(publish(BASE, fix("202611.16.3")), "202611.16.3", " ")
    with pytest.raises(InputError, match=r"is not among 202611\.16"):
        remove_base(BASE, "202611.17")


def test_regions_and_bases_are_as_they_were_set_last() -> None:
    catalog = switch_region(switch_region(BASE, "local", is_on=True), "local", is_on=False)

    assert catalog.regions == {"local": False}
    assert add_base(add_base(BASE, "202610.01"), "202610.01").bases == ("202610.01", "202611.16")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["publish", "withdraw", "promote", "retire", "off", "on"]),
            st.integers(0, 6),
        ),
        max_size=30,
    )
)
def test_whatever_is_done_the_newest_never_sinks_and_the_text_reads_back(
    steps: list[tuple[str, int]],
) -> None:
    catalog = BASE
    highest = -1
    for step, patch in steps:
        version = f"202611.16.{patch}"
        try:
            if step == "publish":
                catalog = publish(catalog, fix(version))
                assert patch > highest
                highest = patch
            elif step == "withdraw":
                catalog = withdraw(catalog, version, "why")
            elif step == "promote":
                catalog = promote(catalog, version, NOW)
            elif step == "retire":
                catalog = retire(catalog, version)
            else:
                change = remove_base if step == "off" else add_base
                catalog = change(catalog, "202611.16")
        except InputError:
            continue
        assert parse_catalog(render_catalog(catalog)) == catalog
        assert not set(catalog.revoked()) & {
            one.version for one in catalog.fixes if one.state is State.PUBLISHED
        }
