"""One report becomes spans and marks on one axis, whatever the report holds."""

import pytest

from fairlead.boots.boot import Mark, Span, boot_timeline_of, parse_boots
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError
from unit.boots.reports import example, make_fields, make_trixie, timeline_of


def span_named(name: str, spans: tuple[Span, ...]) -> Span:
    (found,) = [span for span in spans if "/".join(span.path) == name]
    return found


def test_stages_and_systemds_stamps_share_one_axis() -> None:
    timeline = timeline_of(make_fields())

    kubelet = span_named("agent/provision/start-kubelet", timeline.spans)
    assert (kubelet.start_ms, kubelet.end_ms, kubelet.owner) == (1100.0, 1350.0, "fairlead")
    network = span_named("cloud-init network", timeline.spans)
    assert (network.start_ms, network.end_ms, network.owner) == (660.0, 1203.0, "cloud-init")
    assert timeline.zero == "PID 1"
    assert timeline.verdict == "provisioned 1.90 s after PID 1"


def test_spans_are_read_by_start_and_parts_follow_their_whole() -> None:
    timeline = timeline_of(make_fields())

    assert ["  " * span.depth + span.name for span in timeline.spans] == [
        "whole boot",
        "generators",
        "load units",
        "cloud-init local",
        "  work",
        "cloud-init network",
        "agent unit",
        "agent",
        "  read-features",
        "  provision",
        "    start-kubelet",
        "    wait-for-node",
        "cloud-init config",
        "cloud-init final",
    ]


def test_targets_and_units_that_only_start_are_marks() -> None:
    assert timeline_of(make_fields()).marks == (
        Mark("kubelet started", "kubernetes", 1150.0),
        Mark("network-online.target", "systemd", 1204.0),
        Mark("node registered", "kubernetes", 1800.0),
        Mark("cloud-init.target", "cloud-init", 2472.5),
    )


def test_a_node_that_nobody_waited_for_is_not_called_registered() -> None:
    fields = make_fields()
    fields["stages"][2][4] = "the API server did not answer within 5 s"

    assert "node registered" not in [mark.name for mark in timeline_of(fields).marks]


def test_one_name_for_what_versions_of_cloud_init_call_differently() -> None:
    names = [{span.name for span in timeline_of(f).spans} for f in (make_fields(), make_trixie())]

    assert "cloud-init network" in names[0] & names[1]


def test_what_has_not_ended_reaches_to_the_last_known_instant() -> None:
    fields = make_fields()
    fields["exit"] = None
    fields["took_ms"] = 0.0
    fields["stages"][3] = ["provision", 1.0, 0.0, "unfinished", ""]
    fields["facts"]["boot"]["units"]["cloud-final"] = [1820.0]

    timeline = timeline_of(fields)

    for name in ("agent", "agent/provision", "cloud-init final"):
        span = span_named(name, timeline.spans)
        assert (span.outcome, span.end_ms) == ("unfinished", 2500.0)
    assert timeline.verdict == "has not ended"


def test_what_failed_says_so() -> None:
    fields = make_fields()
    fields["exit"] = 241
    fields["stages"][3] = ["provision", 1.0, 1000.0, "stopped", "kubelet is missing"]
    fields["facts"]["boot"]["units"]["cloud-config"] = [1210.0, 1811.0, "failed"]

    timeline = timeline_of(fields)

    assert span_named("cloud-init config", timeline.spans).outcome == "stopped"
    assert span_named("agent/provision", timeline.spans).cause == "kubelet is missing"
    assert timeline.verdict == "failed with exit code 241 1.90 s after PID 1"


def test_the_kernels_time_lies_before_zero() -> None:
    fields = make_fields()
    fields["facts"]["boot"]["systemd"]["kernel"] = [-1400.0, 0.0]

    timeline = timeline_of(fields)

    assert timeline.begin_ms == -1400.0
    assert timeline.spans[0].name == "kernel"


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"clock": {"monotonic_us": 5}},
        {"boot": {"pid1_us": 5}},
        {"clock": {"monotonic_us": 4}, "boot": {"pid1_us": 5}},  # of another boot
        {"clock": {"monotonic_us": 10**400}, "boot": {"pid1_us": 5}},
        {"clock": [], "boot": "x"},
    ],
)
def test_without_a_common_clock_zero_is_the_agents_start(facts: object) -> None:
    fields = make_fields()
    fields["facts"] = facts

    timeline = timeline_of(fields)

    assert timeline.zero == "the agent's start"
    assert timeline.marks == (Mark("node registered", "kubernetes", 1000.0),)
    assert [span.name for span in timeline.spans] == [
        "agent",
        "read-features",
        "provision",
        "start-kubelet",
        "wait-for-node",
    ]


@pytest.mark.parametrize(
    "entry", [[], [None], ["x"], [True], [1e999], [10**400], [9.0, 3.0], [9.0, None], "x", {}, 3]
)
def test_what_is_not_a_time_is_left_out(entry: object) -> None:
    fields = make_fields()
    fields["facts"]["boot"]["units"]["cloud-config"] = entry

    assert "cloud-init config" not in [span.name for span in timeline_of(fields).spans]


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_the_examples_are_whole_boots(suite: str) -> None:
    (report,) = parse_boots(example(suite).read_bytes())
    timeline = boot_timeline_of(report)

    assert timeline.zero == "PID 1"
    assert {span.owner for span in timeline.spans} == {
        "systemd",
        "cloud-init",
        "fairlead",
        "kubernetes",
    }
    assert {"cloud-init.target", "kubelet started", "node registered"} <= {
        mark.name for mark in timeline.marks
    }
    assert {span.outcome for span in timeline.spans} == {"done", "skipped"}


def test_a_provision_json_and_a_list_of_runs_are_reports_too() -> None:
    fields = make_fields()
    status = {"ExitCode": "0", "fairlead": fields}

    assert [r.run_id for r in parse_boots(encode_json(status).encode())] == ["49367305a828b5f7"]
    several = parse_boots(encode_json([fields, make_trixie()]).encode())
    assert [r.run_id for r in several] == ["49367305a828b5f7", "98ab0b70c7c68729"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b'{"ExitCode": "0"}', "written by the image's scripts"),
        (b"[]", "holds no boot"),
        (b"3", "is not a boot report"),
        (b"[3]", "is not a boot report"),
        (b'{"fairlead": 3}', "is not a boot report"),
        (b'{"run": "x", "stages": 3}', "is not a boot report"),
        (b'{"run": 3}', "run: must be a string"),
        (b"{", "not JSON"),
        (
            b'{"run":"x","agent":"","layout":"","started":"","took_ms":1' + b"0" * 400 + b"}",
            "took_ms: must be a number",
        ),
    ],
)
def test_what_is_no_report_is_refused_with_what_it_is(text: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_boots(text)
