"""What the store keeps of a value comes back as it was, across versions."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from fairlead.answers.event import Event
from fairlead.answers.plan import Plan
from fairlead.answers.pool import Condition, PoolStatus
from fairlead.answers.words import ChangeClass, EventKind, Phase, PoolState, Severity
from fairlead.decision.held import HeldChange
from fairlead.errors import InputError
from fairlead.inputs.platform_inputs import Stub
from fairlead.kept_text import (
    parse_document,
    parse_value,
    render_document,
    render_value,
)
from fairlead.revision.revision import Revision, SecretContent
from fairlead.rollout.machines import Machine, NodeSettings, Template
from fairlead.rollout.record import Evidence, PoolRecord
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.sim.world import SimWorld
from transitions.pool_worlds import POOL, drift, edit, settled_world

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 16, 12, 0, 1, 250000, tzinfo=UTC)
REVISION = Revision(
    id="0123",
    scheme=2,
    intent_hash="aa",
    platform_hash="bb",
    leaves={"labels": ["ä", "\ud800"], "maxPods": 110, "ratio": 1.0, "swap": True},
    node_config='{"version":"v1"}',
    content=SecretContent.ROLL,
)
PLAN = Plan(
    pool="workers",
    change=ChangeClass.IN_PLACE,
    intent_hash="aa",
    platform_hash="bb",
    because="imageBase",
    machines=("workers-1",),
    estimate_s=1800.000001,
)
SETTINGS = NodeSettings(
    labels={"team": "a"},
    taints=({"key": "a", "effect": "NoSchedule"},),
    drain_timeout=timedelta(minutes=5),
)

# As release 202611.16.0 wrote them.
REVISION_TEXT = (
    '{"id":"0123","scheme":2,"intent_hash":"aa","platform_hash":"bb",'
    '"leaves":{"labels":["\\u00e4","\\ud800"],"maxPods":110,"ratio":1.0,"swap":true},'
    '"node_config":"{\\"version\\":\\"v1\\"}","content":"Roll","force":""}'
)
PLAN_TEXT = (
    '{"pool":"workers","change":"in-place","intent_hash":"aa","platform_hash":"bb",'
    '"because":"imageBase","leaves":["imageBase"],"target":"","machines":["workers-1"],'
    '"estimate":1800.000001}'
)
SETTINGS_TEXT = (
    '{"labels":{"team":"a"},"taints":[{"key":"a","effect":"NoSchedule"}],'
    '"drain_timeout":300.0,"detach_timeout":null}'
)
EARLIER_TEXTS: list[tuple[object, str]] = [
    (
        PoolRecord(
            pool="workers",
            serial=3,
            target=REVISION,
            started_at=NOON,
            honoured=("f1",),
            held=(
                HeldChange(
                    id="pc-1",
                    leaf="imageBase",
                    owner="platform",
                    severity=Severity.SECURITY,
                    since=NOON,
                ),
            ),
            plan=PLAN,
            seeded=Evidence.SECRET,
        ),
        f'{{"pool":"workers","serial":3,"applied":null,"target":{REVISION_TEXT},"reason":"",'
        '"sentence":"","started_at":"2026-11-16T12:00:00+00:00","honoured":["f1"],'
        '"held":[{"id":"pc-1","leaf":"imageBase","owner":"platform","severity":"security",'
        '"since":"2026-11-16T12:00:00+00:00"}],"failed":[],"halted":"","resumed":[],'
        f'"forgiven":[],"plan":{PLAN_TEXT},"seeded":"Secret"}}',
    ),
    (PLAN, PLAN_TEXT),
    (
        PoolStatus(
            state=PoolState.ROLLING_OUT,
            sentence="It rolls.",
            version="1.34.2",
            updated=1,
            available=2,
            total=3,
            desired=3,
            conditions=(
                Condition(
                    type="Ready", status="True", reason="AsExpected", message="", since=LATER
                ),
            ),
        ),
        '{"state":"RollingOut","sentence":"It rolls.","version":"1.34.2","updated":1,'
        '"available":2,"total":3,"desired":3,"conditions":[{"type":"Ready","status":"True",'
        '"reason":"AsExpected","message":"","since":"2026-11-16T12:00:01.250000+00:00"}]}',
    ),
    (
        Template(
            revision="0123",
            version="1.34.2",
            machine_template={"size": "s"},
            replicas=3,
            settings=SETTINGS,
            is_held=True,
        ),
        '{"revision":"0123","version":"1.34.2","machine_template":{"size":"s"},"replicas":3,'
        f'"settings":{SETTINGS_TEXT},"generation":1,"observed_generation":1,"legacy_hash":"",'
        '"is_held":true}',
    ),
    (
        Machine(
            name="workers-1",
            pool="workers",
            revision="0123",
            phase=Phase.NOT_READY,
            created_at=NOON,
            ready_at=LATER,
            settings=SETTINGS,
        ),
        '{"name":"workers-1","pool":"workers","revision":"0123","phase":"not-ready",'
        '"created_at":"2026-11-16T12:00:00+00:00","booted":"","heading_for":"",'
        '"ready_at":"2026-11-16T12:00:01.250000+00:00","problem":"","reason":"",'
        f'"settings":{SETTINGS_TEXT}}}',
    ),
    (
        TokenSecret(
            pool="workers",
            id="0123",
            revision=REVISION,
            served=REVISION,
            token="t",
            issued_at=NOON,
            previous_until=LATER,
        ),
        f'{{"pool":"workers","id":"0123","revision":{REVISION_TEXT},"served":{REVISION_TEXT},'
        '"token":"t","issued_at":"2026-11-16T12:00:00+00:00","previous":"",'
        '"previous_until":"2026-11-16T12:00:01.250000+00:00","expires_at":null,"problem":"",'
        '"unserved":""}',
    ),
    (
        UserData(
            pool="workers", id="0123", token="t", stub=Stub(endpoint="https://a", ca="CA")
        ),
        '{"pool":"workers","id":"0123","token":"t","stub":{"endpoint":"https://a","ca":"CA",'
        '"proxy":"","report":""}}',
    ),
    (
        Event(kind=EventKind.SEEDED, pool="workers", at=LATER, key="Seeded:1", says="Seeded."),
        '{"kind":"Seeded","pool":"workers","at":"2026-11-16T12:00:01.250000+00:00",'
        '"key":"Seeded:1","says":"Seeded.","machine":""}',
    ),
]  # fmt: skip


def busy_world() -> SimWorld:
    """A pool that is drifted and in the middle of a rollout."""
    world = settled_world(labels={"team": "a"}, timeouts={"drain": "5m"})
    drift(world)
    world.settle()
    edit(world, imageBase="202607.03", taints=[{"key": "a", "effect": "NoSchedule"}])
    world.one_pass()
    world.run_machines()
    drift(world, "cp@sha256:cc")
    world.one_pass()
    return world


def refusal(kind: type, value: object) -> str:
    with pytest.raises(InputError) as refused:
        parse_value(kind, json.dumps(value))
    return str(refused.value)


def test_everything_that_a_pass_writes_comes_back_as_it_was() -> None:
    world = busy_world()
    machines = [*world.living.values(), *world.gone.values()]
    secrets = [*world.tokens.values(), *world.user_data.values()]
    values: list[object] = [
        world.records[POOL], world.records[POOL].plan, world.statuses[POOL],
        world.templates[POOL], *machines, *secrets, *world.read_events(POOL),
    ]  # fmt: skip

    assert {type(value) for value in values} == {
        PoolRecord, Plan, PoolStatus, Template, Machine, TokenSecret, UserData, Event,
    }  # fmt: skip
    for value in values:
        assert parse_value(type(value), render_value(value)) == value


@pytest.mark.parametrize(
    ("value", "text"), EARLIER_TEXTS, ids=[type(value).__name__ for value, _ in EARLIER_TEXTS]
)
def test_what_an_earlier_release_kept_is_read_and_kept_in_the_same_form(
    value: object, text: str
) -> None:
    found = parse_value(type(value), text)
    kept: Any = json.loads(render_value(value))

    assert found == value
    assert repr(found) == repr(value)  # True is not 1, and a list is not a tuple
    assert shared(kept, json.loads(text))


def shared(kept: Any, earlier: Any) -> bool:
    """Whether two values say the same in all fields that both releases know."""
    if isinstance(kept, dict) and isinstance(earlier, dict):
        both = (kept.keys() & earlier.keys()) - {"leaves"}  # of plans, which are told, not kept
        both |= {"leaves"} if isinstance(kept.get("leaves"), dict) else set()
        return all(shared(kept[name], earlier[name]) for name in both)
    return repr(kept) == repr(earlier)


def test_a_field_of_a_later_version_is_dropped_and_a_missing_one_has_its_default() -> None:
    record: Any = json.loads(render_value(busy_world().records[POOL]))
    record["flux"] = 1
    del record["failed"]

    assert parse_value(PoolRecord, json.dumps(record)).failed == ()


def test_user_data_of_an_earlier_version_reports_nowhere() -> None:
    data: Any = json.loads(render_value(next(iter(busy_world().user_data.values()))))
    del data["stub"]["report"]

    assert parse_value(UserData, json.dumps(data)).stub.report == ""


def test_a_span_that_a_later_release_keeps_as_text_is_read() -> None:
    settings = NodeSettings(drain_timeout=timedelta(minutes=5))

    assert parse_value(NodeSettings, '{"drain_timeout":"PT5M"}') == settings
    assert parse_value(NodeSettings, '{"drain_timeout":300}') == settings


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "found [], expected object"),
        ({"pool": 1}, "pool: found 1, expected str"),
        ({"pool": "a", "serial": True}, "serial: found True, expected int"),
        ({"pool": "a", "serial": 1.0}, "serial: found 1.0, expected int"),
        ({}, "a PoolRecord lacks a field: object missing required field pool"),
        (
            {"pool": "a", "started_at": "soon"},
            "started_at: found 'soon', invalid RFC3339 encoded datetime",
        ),
        ({"pool": "a", "seeded": "Flux"}, "seeded: found 'Flux', invalid enum value"),
        ({"pool": "a", "honoured": "v1"}, "honoured: found 'v1', expected array"),
        ({"pool": "a", "honoured": ["v1", 2]}, "honoured[1]: found 2, expected str"),
        ({"pool": "a", "target": {"id": None}}, "target.id: found None, expected str"),
        ({"pool": "a", "plan": 1}, "plan: found 1, expected object | null"),
    ],
)
def test_what_cannot_be_read_is_named(value: object, problem: str) -> None:
    assert refusal(PoolRecord, value).startswith(problem)


@pytest.mark.parametrize(
    ("span", "problem"),
    [
        ("soon", "drain_timeout: found 'soon', invalid ISO8601 duration"),
        (True, "drain_timeout: found True, expected duration | null"),
        (1e300, "drain_timeout: found 1e+300, expected duration | null"),
        (float("nan"), "drain_timeout: found nan, expected duration | null"),
        ([1], "drain_timeout: found [1], expected duration | null"),
    ],
)
def test_what_is_no_span_of_time_is_named(span: object, problem: str) -> None:
    assert refusal(NodeSettings, {"drain_timeout": span}) == problem


def test_a_label_that_is_no_text_is_named_with_its_labels() -> None:
    wrong = {"labels": {"team": "a", "zone": 1}}

    assert refusal(NodeSettings, wrong) == (
        "labels[...]: found {'team': 'a', 'zone': 1}, expected str"
    )


def test_a_pair_that_lacks_a_field_does_not_show_its_token() -> None:
    assert "hunter2" not in refusal(TokenSecret, {"pool": "a", "token": "hunter2"})


@pytest.mark.parametrize("text", ["", "{", '{"pool":"a"', "[" * 9000, "1" * 9000, "\ud800"])
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="found text that is not JSON: "):
        parse_document(text)
    with pytest.raises(InputError, match="found text that is not JSON: "):
        parse_value(PoolRecord, text)


@pytest.mark.parametrize(
    "wrong",
    [
        float("nan"), float("inf"), -float("inf"), b"\0", NOON.date(), object(),
        {"a": [float("nan")]}, {("a",): 1},
    ],
    ids=lambda wrong: type(wrong).__name__,
)  # fmt: skip
def test_what_json_has_no_form_for_is_not_kept(wrong: object) -> None:
    revision = replace(REVISION, leaves={"leaf": wrong})

    with pytest.raises(InputError, match=r"JSON has no form for"):
        render_value(revision)
    with pytest.raises(InputError, match=r"JSON has no form for"):
        render_document(revision.leaves)


def test_a_number_of_9000_digits_is_not_kept_as_python_would_not_read_it() -> None:
    with pytest.raises(InputError, match=r"JSON has no form for"):
        render_document([10**9000])


def test_what_contains_itself_is_not_kept() -> None:
    endless: list[object] = []
    endless.append(endless)

    for write in (render_value, render_document):
        with pytest.raises(InputError, match=r"JSON has no form for"):
            write(endless)


def test_a_mapping_of_any_kind_is_kept() -> None:
    kept = render_value(replace(SETTINGS, labels=MappingProxyType({"team": "a"})))

    assert kept == SETTINGS_TEXT
    assert render_document(MappingProxyType({"since": NOON})) == (
        '{"since":"2026-11-16T12:00:00+00:00"}'
    )


def test_a_number_that_is_none_is_read_where_an_earlier_release_kept_it() -> None:
    assert repr(parse_document('[NaN, -Infinity, 1e400, "\\ud800"]')) == (
        "[nan, -inf, inf, '\\ud800']"
    )
