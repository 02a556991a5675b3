"""Two boots held against each other, and many boots as one."""

import pytest

from fairlead.boots.boot import BootTimeline, Span
from fairlead.boots.compare import compare_boots, difference_fields
from fairlead.boots.medians import median_timeline, medians_fields, medians_of
from fairlead.errors import InputError
from unit.boots.reports import make_fields, make_trixie, timeline_of


def boot_with(final_ms: float, *, start_ms: float = 1820.0) -> BootTimeline:
    fields = make_fields()
    fields["facts"]["boot"]["units"]["cloud-final"] = [start_ms, start_ms + final_ms]
    return timeline_of(fields)


def test_the_largest_difference_comes_first_with_its_ratio() -> None:
    found = compare_boots([timeline_of(make_fields())], [timeline_of(make_trixie())])

    shown = [(d.kind, d.name, d.delta_ms, d.ratio) for d in found[:4]]
    assert shown == [
        ("mark", "cloud-init.target", -1191.5, 0.518),
        ("span", "cloud-init final", -582.0, 0.107),
        ("span", "cloud-init config", -465.0, 0.226),
        ("span", "cloud-init network", -364.0, 0.33),
    ]


def test_what_one_side_lacks_comes_last_and_has_no_difference() -> None:
    found = compare_boots([timeline_of(make_fields())], [timeline_of(make_trixie())])

    alone = [(d.name, d.a is None, d.delta_ms) for d in found if d.delta_ms is None]
    assert alone == [
        ("kubelet started", False, None),
        ("agent unit", False, None),
        ("cloud-init main", True, None),
    ]
    assert [d.name for d in found[-3:]] == ["kubelet started", "agent unit", "cloud-init main"]


def test_a_boot_does_not_differ_from_itself() -> None:
    boot = timeline_of(make_fields())

    assert {d.delta_ms for d in compare_boots([boot], [boot])} == {0.0}


def test_sets_are_compared_by_their_medians() -> None:
    a = [boot_with(100.0), boot_with(400.0), boot_with(110.0)]
    b = [boot_with(200.0), boot_with(220.0), boot_with(20.0)]

    (final,) = [d for d in compare_boots(a, b) if d.name == "cloud-init final"]

    assert difference_fields(final) == {
        "kind": "span",
        "name": "cloud-init final",
        "owner": "cloud-init",
        "a_ms": {"median": 110.0, "least": 100.0, "most": 400.0, "boots": 3},
        "b_ms": {"median": 200.0, "least": 20.0, "most": 220.0, "boots": 3},
        "delta_ms": 90.0,
        "ratio": 1.818,
    }


def test_medians_tell_how_far_the_boots_were_apart() -> None:
    medians = medians_of([boot_with(100.0), boot_with(1400.0), boot_with(110.0, start_ms=1900.0)])
    (final,) = [s for s in median_timeline(medians).spans if s.name == "cloud-init final"]

    assert final == Span(
        ("cloud-init final",), "cloud-init", 1820.0, 1930.0, "done", "0.10..1.40 s"
    )
    fields = medians_fields(medians)
    assert fields["boots"] == 3
    assert {"median": 1820.0, "least": 1820.0, "most": 1900.0, "boots": 3} in [
        span["start_ms"] for span in fields["spans"] if span["name"] == "cloud-init final"
    ]


def test_a_span_that_some_boots_lack_says_in_how_many_it_was() -> None:
    medians = medians_of([timeline_of(make_fields()), timeline_of(make_trixie())])
    (main,) = [s for s in median_timeline(medians).spans if s.name == "cloud-init main"]

    assert main.cause == "350.0..350.0 ms, in 1 of 2 boots"


def test_a_span_that_never_ended_is_in_no_median() -> None:
    fields = make_fields()
    fields["facts"]["boot"]["units"]["cloud-final"] = [1820.0]

    medians = medians_of([timeline_of(fields), boot_with(100.0)])

    (final,) = [s for s in medians.spans if s.path == ("cloud-init final",)]
    assert (final.took.median_ms, final.took.boots) == (100.0, 1)


def test_boots_with_different_zeros_are_not_mixed() -> None:
    fields = make_fields()
    fields["facts"] = {}

    with pytest.raises(InputError, match="no common start"):
        compare_boots([timeline_of(make_fields())], [timeline_of(fields)])
