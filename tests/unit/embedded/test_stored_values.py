"""Whatever values the path makes, the store gives back equal ones, also to another process."""

import enum
import json
import tempfile
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from example_counts import examples
from fairlead.answers.document import Document
from fairlead.answers.event import Event
from fairlead.answers.leaf import LeafDifference
from fairlead.answers.plan import Plan
from fairlead.answers.pool import Condition, PoolStatus
from fairlead.answers.wait import Wait
from fairlead.answers.words import (
    ChangeClass,
    EventKind,
    LeafClass,
    Phase,
    PoolState,
    Severity,
    WaitFor,
)
from fairlead.decision.held import HeldChange
from fairlead.inputs.leaf import Json
from fairlead.inputs.platform_inputs import Stub
from fairlead.kept_text import parse_document, parse_value, render_value
from fairlead.revision.revision import Revision, SecretContent
from fairlead.rollout.approval import Approval, approval_of
from fairlead.rollout.machines import Machine, NodeSettings, Template
from fairlead.rollout.record import Evidence, PoolRecord
from fairlead.rollout.secrets import TokenSecret, UserData
from pool_documents import pool_document
from unit.embedded.open_world import PAIR, POOL, open_world, with_template

TEXT = st.text(max_size=12)
MOMENT = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis adds the zone
SPAN = st.timedeltas(timedelta(), timedelta(days=4000))
# Documents may hold half of a surrogate pair; what the store looks up by may not.
ANY_TEXT = st.text(st.characters(), max_size=12)
COUNT = st.integers(0, 2**31 - 1)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOAT | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)

REVISION = st.builds(
    Revision,
    id=TEXT,
    scheme=COUNT,
    intent_hash=TEXT,
    platform_hash=TEXT,
    leaves=st.dictionaries(ANY_TEXT, JSON, max_size=5),
    node_config=ANY_TEXT,
    content=st.sampled_from(SecretContent),
    force=TEXT,
)
LEAF = st.builds(
    LeafDifference,
    leaf=TEXT,
    leaf_class=st.sampled_from(LeafClass),
    owner=TEXT,
    before=JSON,
    after=JSON,
)
WAIT = st.builds(
    Wait,
    wait_for=st.sampled_from(WaitFor),
    says=TEXT,
    machine=TEXT,
    until=st.none() | MOMENT,
)
PLAN = st.builds(
    Plan,
    pool=st.just(POOL),
    change=st.sampled_from(ChangeClass),
    intent_hash=TEXT,
    platform_hash=TEXT,
    because=TEXT,
    leaves=st.lists(LEAF, max_size=3).map(tuple),
    target=TEXT,
    machines=st.lists(TEXT, max_size=3).map(tuple),
    estimate_s=st.floats(0, 1e9),
    waits=st.lists(WAIT, max_size=2).map(tuple),
)
APPROVAL = st.builds(approval_of, PLAN, REVISION)
HELD = st.builds(
    HeldChange, id=TEXT, leaf=TEXT, owner=TEXT, severity=st.sampled_from(Severity), since=MOMENT
)
RECORD = st.builds(
    PoolRecord,
    pool=st.just(POOL),
    serial=COUNT,
    applied=st.none() | REVISION,
    target=st.none() | REVISION,
    reason=TEXT,
    sentence=TEXT,
    started_at=st.none() | MOMENT,
    honoured=st.lists(TEXT, max_size=3).map(tuple),
    held=st.lists(HELD, max_size=2).map(tuple),
    failed=st.lists(TEXT, max_size=3).map(tuple),
    halted=TEXT,
    resumed=st.lists(TEXT, max_size=3).map(tuple),
    forgiven=st.lists(TEXT, max_size=3).map(tuple),
    plan=st.none() | PLAN,
    seeded=st.sampled_from(Evidence),
)
CONDITION = st.builds(
    Condition,
    type=TEXT,
    status=TEXT,
    reason=TEXT,
    message=TEXT,
    since=MOMENT,
)
STATUS = st.builds(
    PoolStatus,
    state=st.sampled_from(PoolState),
    sentence=TEXT,
    version=TEXT,
    updated=COUNT,
    available=COUNT,
    total=COUNT,
    desired=COUNT,
    conditions=st.lists(CONDITION, max_size=2).map(tuple),
)
SETTINGS = st.builds(
    NodeSettings,
    labels=st.dictionaries(TEXT, TEXT, max_size=3),
    taints=st.lists(JSON, max_size=2).map(tuple),
    drain_timeout=st.none() | SPAN,
    detach_timeout=st.none() | SPAN,
)
TEMPLATE = st.builds(
    Template,
    revision=st.just(PAIR),
    version=st.just("1.34.2"),
    machine_template=st.dictionaries(TEXT, JSON, max_size=3),
    replicas=COUNT,
    settings=SETTINGS,
    generation=COUNT,
    observed_generation=COUNT,
    is_held=st.booleans(),
)
TOKEN = st.builds(
    TokenSecret,
    pool=st.just(POOL),
    id=TEXT,
    revision=REVISION,
    served=REVISION,
    token=st.text("abc", min_size=1),
    issued_at=MOMENT,
    previous=st.text("abc"),
    previous_until=st.none() | MOMENT,
    expires_at=st.none() | MOMENT,
    problem=TEXT,
    unserved=TEXT,
)
USER_DATA = st.builds(
    UserData,
    pool=st.just(POOL),
    id=TEXT,
    token=TEXT,
    stub=st.builds(Stub, endpoint=TEXT, ca=TEXT, proxy=TEXT, report=TEXT),
)
MACHINE = st.builds(
    Machine,
    name=st.just("workers-1"),
    pool=st.just(POOL),
    revision=TEXT,
    phase=st.sampled_from([Phase.BOOTING, Phase.NOT_READY, Phase.FAILED]),
    created_at=MOMENT,
    booted=TEXT,
    heading_for=TEXT,
    ready_at=st.none() | MOMENT,
    problem=TEXT,
    reason=TEXT,
    settings=SETTINGS,
)
EVENT = st.builds(
    Event,
    kind=st.sampled_from(EventKind),
    pool=st.just(POOL),
    at=MOMENT,
    key=TEXT,
    says=TEXT,
    machine=TEXT,
)


def earlier_form(value: Any) -> Json:
    """A value as release 202611.16.0 kept it, before it became text."""
    match value:
        case dict():
            return {name: earlier_form(item) for name, item in value.items()}
        case list() | tuple():
            return [earlier_form(item) for item in value]
        case enum.Enum():
            return value.value
        case datetime() | timedelta():
            return value.isoformat() if isinstance(value, datetime) else value.total_seconds()
    names = {}
    if isinstance(value, Document):
        names = {field.name: field.encode_name for field in structs.fields(value)}
    elif is_dataclass(value):
        names = {field.name: field.name for field in fields(value)}
    told = {name: earlier_form(getattr(value, of)) for of, name in names.items()}
    return told if names else value


@settings(max_examples=examples(300), deadline=None)
@given(RECORD | STATUS | PLAN | TEMPLATE | TOKEN | USER_DATA | MACHINE | EVENT)
def test_an_earlier_release_and_this_one_read_what_the_other_keeps(value: object) -> None:
    earlier = json.dumps(earlier_form(value), separators=(",", ":"))

    assert render_value(value) == earlier
    found = parse_value(type(value), earlier)
    assert found == value
    assert render_value(found) == earlier  # True equals 1, and is another text


@settings(max_examples=examples(300), deadline=None)
@given(JSON)
def test_a_document_is_read_as_the_standard_library_reads_it(document: Json) -> None:
    text = json.dumps(document)

    assert repr(parse_document(text)) == repr(json.loads(text)) == repr(document)


@settings(max_examples=examples(60), deadline=None)
@given(record=RECORD, status=STATUS, plan=APPROVAL, template=TEMPLATE)
def test_values_of_a_pool_come_back_equal(
    record: PoolRecord, status: PoolStatus, plan: Approval, template: Template
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        with open_world(Path(directory)) as world:
            with_template(world)
            world.pools.write_record(record)
            world.pools.write_status(POOL, status)
            world.pools.write_plan(plan)
            world.machines.point_template(POOL, template)

        with open_world(Path(directory)) as world:
            assert world.pools.find_record(POOL) == record
            assert world.pools.find_status(POOL) == status
            assert world.pools.find_plan(POOL) == plan
            assert world.machines.find_template(POOL) == template


@settings(max_examples=examples(60), deadline=None)
@given(token=TOKEN, user_data=USER_DATA, machine=MACHINE, event=EVENT)
def test_secrets_machines_and_events_come_back_equal(
    token: TokenSecret, user_data: UserData, machine: Machine, event: Event
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        with open_world(Path(directory)) as world:
            world.pools.write_pool(pool_document())
            world.secrets.write_token(token)
            world.secrets.write_user_data(user_data)
            with_template(world)
            world.machines.create_machine(POOL, "workers-1", PAIR)
            world.machines.apply_settings("workers-1", machine.settings)
            world.machines.write_machine(machine)
            world.journal.append([event])

        with open_world(Path(directory)) as world:
            assert token in world.secrets.list_tokens(POOL)
            assert user_data in world.secrets.list_user_data(POOL)
            assert world.machines.list_machines(POOL) == (machine,)
            assert world.journal.read_events(POOL) == (event,)
