"""Which role each request needs, and what those hear who lack it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asgi_call import ask
from fairlead.answers.schema import ANSWERS
from fairlead.embedded.access.guard import ROLE_OF, key_of
from fairlead.embedded.access.peer import Peer, user_name
from fairlead.embedded.serve.api import make_api
from pool_documents import platform_document, pool_document
from service.stored_plane import StoredPlane

VIEWER, POOL_OWNER, PLATFORM, STRANGER = 7001, 7002, 7003, 7004
ROLES = (
    f"fairlead-viewer group {VIEWER}\n"
    f"fairlead-pool-owner group {POOL_OWNER}\n"
    f"fairlead-platform user {PLATFORM}\n"
)

# Every request that there is, and who of the four it is for.
TABLE = {
    "GET /v1/whoami": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/health": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/certificates": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/events": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/pools": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/pools/{name}": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/pools/{name}/history": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/machines": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/machines/{name}": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/machines/{name}/log": {VIEWER, POOL_OWNER, PLATFORM},
    "GET /v1/platform": {VIEWER, POOL_OWNER, PLATFORM},
    "POST /v1/plan": {VIEWER, POOL_OWNER, PLATFORM},
    "POST /v1/apply": {POOL_OWNER, PLATFORM},
    "PATCH /v1/pools/{name}": {POOL_OWNER, PLATFORM},
    "DELETE /v1/pools/{name}": {POOL_OWNER, PLATFORM},
    "POST /v1/pools/{name}/faults": {POOL_OWNER, PLATFORM},
    "DELETE /v1/machines/{name}": {POOL_OWNER, PLATFORM},
    "POST /v1/machines/{name}/fault": {POOL_OWNER, PLATFORM},
    "PATCH /v1/platform": {PLATFORM},
    "POST /v1/certificates": {PLATFORM},
    "POST /v1/stop": {PLATFORM},
    "POST /v1/copy": {PLATFORM},
}


class Asked:
    """Asks as anybody: what the kernel says of a peer is given instead."""

    def __init__(self, plane: StoredPlane) -> None:
        self.plane = plane
        self.app = make_api(plane)

    def __call__(self, who: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        content = json.dumps(body).encode() if body is not None else b""
        peer = {"fairlead.peer": Peer(who, frozenset({who}))}
        status, text = ask(self.app, method, path, {}, content, **peer)
        return status, json.loads(text)

    def refused(self, who: int, method: str, path: str, body: Any = None) -> Any:
        status, answer = self(who, method, path, body)
        assert status == 403
        return answer["error"]


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    plane = StoredPlane(tmp_path / "state")
    plane.directory.roles.write_text(ROLES)
    try:
        yield Asked(plane)
    finally:
        plane.close()


def test_every_route_needs_exactly_one_role(asked: Asked) -> None:
    served = sorted(key_of(route) for route in asked.app.routes)  # type: ignore[arg-type]

    assert served == sorted(ROLE_OF) == sorted(TABLE) == sorted(ANSWERS)


@pytest.mark.parametrize("key", TABLE)
@pytest.mark.parametrize("who", [VIEWER, POOL_OWNER, PLATFORM, STRANGER])
def test_a_request_is_for_those_whose_role_covers_it(asked: Asked, key: str, who: int) -> None:
    method, path = key.split()

    status, _ = asked(who, method, path.replace("{name}", "workers"))

    assert (status != 403) == (who in TABLE[key])


def test_the_owner_and_root_may_everything_without_a_line(asked: Asked) -> None:
    asked.plane.directory.roles.unlink()

    for who in (os.geteuid(), 0):
        statuses = {asked(who, *key.replace("{name}", "x").split())[0] for key in TABLE}
        assert 403 not in statuses


def test_a_refusal_says_who_what_is_needed_and_who_can_give_it(asked: Asked) -> None:
    told = asked.refused(VIEWER, "POST", "/v1/apply", {"documents": [pool_document()]})

    owner, roles = user_name(os.geteuid()), asked.plane.directory.roles
    assert told == {
        "kind": "InputError",
        "problem": "7001 has the role fairlead-viewer, "
        "and POST /v1/apply needs fairlead-pool-owner",
        "field": "",
        "hint": f"{owner} can give it, by a line in {roles}",
    }
    assert asked.plane.world.pools.list_pools() == ()


def test_a_stranger_is_refused_before_anything_is_read_of_what_they_sent(asked: Asked) -> None:
    told = asked.refused(STRANGER, "POST", "/v1/plan", {"documents": ["not even one"]})

    assert told["problem"].startswith("7004 has no role, and POST /v1/plan needs fairlead-viewer")


def test_whoever_comes_without_a_peer_is_refused(asked: Asked) -> None:
    status, text = ask(asked.app, "GET", "/v1/pools", {})

    assert status == 403
    assert b"somebody unknown has no role" in text


def test_a_pool_owner_declares_pools_and_no_platform(asked: Asked) -> None:
    pools = {"documents": [pool_document()]}
    both = {"documents": [pool_document(), platform_document()]}

    assert asked(POOL_OWNER, "POST", "/v1/apply", pools)[0] == 200
    before = asked.plane.world.pools.read_platform()
    told = asked.refused(POOL_OWNER, "POST", "/v1/apply", both)
    asked.refused(POOL_OWNER, "POST", "/v1/apply", {**both, "dry_run": True})
    asked.refused(POOL_OWNER, "PATCH", "/v1/platform", {"spec": {"stop": True}})

    assert told["problem"] == (
        "7002 has the role fairlead-pool-owner, "
        "and a PlatformConfig that says anything new needs fairlead-platform"
    )
    assert asked.plane.world.pools.read_platform() == before


def test_a_platform_document_that_says_nothing_new_keeps_nobody_from_applying(
    asked: Asked,
) -> None:
    both = {"documents": [pool_document(), platform_document()]}
    assert asked(PLATFORM, "POST", "/v1/apply", both)[0] == 200

    assert asked(POOL_OWNER, "POST", "/v1/apply", both)[0] == 200


def test_roles_with_a_mistake_are_named_in_the_refusal(asked: Asked) -> None:
    asked.plane.directory.roles.write_text(ROLES + "fairlead-viewer\n")

    told = asked.refused(PLATFORM, "GET", "/v1/pools")

    assert "has no role, because nobody has" in told["problem"]
    assert "line 4: found 1 words" in told["problem"]


def test_whoami_says_name_role_and_why(asked: Asked) -> None:
    assert asked(POOL_OWNER, "GET", "/v1/whoami") == (
        200,
        {
            "name": "7002",
            "role": "fairlead-pool-owner",
            "because": "group 7002",
            "problems": [],
        },
    )
    _, owner = asked(os.geteuid(), "GET", "/v1/whoami")
    assert owner["name"] == user_name(os.geteuid())
    assert (owner["role"], owner["because"]) == ("fairlead-platform", "owns the state directory")


def test_the_owner_hears_what_is_amiss_with_the_roles_and_guests_do_not(asked: Asked) -> None:
    asked.plane.directory.roles.write_text("fairlead-viewer group nobody-has-this\n" + ROLES)

    problems = asked(os.geteuid(), "GET", "/v1/whoami")[1]["problems"]

    assert "line 1: there is no group nobody-has-this" in problems[0]
    assert asked(VIEWER, "GET", "/v1/whoami")[1]["problems"] == []
