"""Whatever is sent to the runtime extension: an answer comes, and never a claim by accident."""

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.extension.answers import Answers
from fairlead.kube.extension.app import ExtensionApp
from fairlead.kube.extension.wire import LONGEST_BODY, Hook, path_of
from unit.kube.test_extension_hooks import UPDATE, Cluster, side

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
ASKED = st.sampled_from([Hook.CAN_UPDATE_MACHINE, Hook.CAN_UPDATE_MACHINE_SET, Hook.UPDATE_MACHINE])
DEEP = b'{"current":' * 100_000


def answered(hook: Hook, body: bytes) -> tuple[Any, list[Exception]]:
    defects: list[Exception] = []
    return Answers(Cluster(says="goes on"), defects.append).answer(hook, body), defects


@given(ASKED, st.binary(max_size=200) | ODD.map(lambda one: json.dumps(one).encode()))
def test_any_bytes_are_answered_and_break_nothing(hook: Hook, body: bytes) -> None:
    answer, defects = answered(hook, body)

    assert answer["status"] in ("Success", "Failure")
    assert defects == []


def places(document: Any, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every path of a document."""
    inner = document.items() if isinstance(document, dict) else ()
    return [at, *(place for name, one in inner for place in places(one, (*at, name)))]


OURS = {"current": side("a1"), "desired": side("b2", version="v1.34.3")}


@given(st.sampled_from([one for one in places(OURS) if one]), ODD)
def test_a_damaged_request_about_ours_is_covered_whole_or_refused(
    place: tuple[str, ...], value: Any
) -> None:
    request = json.loads(json.dumps(OURS))
    *above, last = place
    target = request
    for name in above:
        target = target[name]
    target[last] = value
    answer, defects = answered(Hook.CAN_UPDATE_MACHINE_SET, json.dumps(request).encode())

    assert defects == []
    if answer["status"] == "Success":
        # One side always says that they are ours: a version that differs is claimed.
        version = [
            part["machineSet"]["spec"]["template"]["spec"].get("version")
            for part in (request["current"], request["desired"])
        ]
        assert ("machineSetPatch" in answer) == (version[0] != version[1])


@given(st.sampled_from([one for one in places(UPDATE) if one]), ODD)
def test_a_damaged_update_is_never_done(place: tuple[str, ...], value: Any) -> None:
    request = json.loads(json.dumps(UPDATE))
    *above, last = place
    target = request
    for name in above:
        target = target[name]
    target[last] = value
    answer, defects = answered(Hook.UPDATE_MACHINE, json.dumps(request).encode())

    assert defects == []
    assert answer["status"] == "Failure" or answer["retryAfterSeconds"] > 0


def test_deep_and_endless_requests_are_refused() -> None:
    for hook in Hook:
        for body in (DEEP, b'{"current":' * 900 + b"{}" + b"}" * 900, b"[" * 100_000):
            answer, defects = answered(hook, body)
            assert (answer["status"], defects) == ("Failure", [])


def sent(path: str, method: str, parts: list[bytes]) -> tuple[int, bytes, int]:
    """Status and body of an answer, and how many parts of the request were read."""
    app = ExtensionApp(Answers(Cluster(), lambda _: None))
    read, written = 0, list[Any]()

    async def receive() -> Any:
        nonlocal read
        read += 1
        more = read < len(parts)
        return {"type": "http.request", "body": parts[read - 1], "more_body": more}

    async def send(message: Any) -> None:
        written.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    asyncio.run(app(scope, receive, send))
    return written[0]["status"], written[1]["body"], read


def test_a_long_request_is_not_read_to_its_end() -> None:
    mib = b" " * (1 << 20)
    most = LONGEST_BODY // len(mib)

    status, body, read = sent(path_of(Hook.UPDATE_MACHINE), "POST", [mib] * 50)

    assert (status, json.loads(body)["status"], read) == (200, "Failure", most + 1)


def test_other_paths_and_methods_are_not_answered() -> None:
    assert sent("/", "POST", [b""])[:2] == (404, b"")
    assert sent(path_of(Hook.DISCOVERY), "GET", [b""])[:2] == (405, b"")
    assert sent(f"{path_of(Hook.DISCOVERY)}/x", "POST", [b""])[0] == 404
