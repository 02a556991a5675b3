"""The hotfix service over HTTP: what each route takes and tells, and what no route serves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asgi_call import ask
from fairlead.hotfix.campaign import Boots
from fairlead.hotfix.catalog import State
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.service.depot_files import is_public, open_public
from fairlead.hotfix.service.http_app import make_hotfix_app
from served_hotfixes import BASE, FIX, NOW, Serving, make_catalog, make_depot, make_fix, report_text

PROOF = {"Authorization": "Bearer proof-of-m1", "Fairlead-Machine": "m1"}
QUERY = b"component=fairlead-node&version=202611.16.0"
PACKAGE = f"apt/pool/fairlead-node-hotfix_{FIX}_all.deb"


class Called:
    """A service without a socket."""

    def __init__(self, path: Path) -> None:
        self.depot = make_depot(path / "depot", [make_fix(everyone=True)])
        (self.depot.directory / PACKAGE).write_bytes(b"package" * 50_000)
        self.serving = Serving(self.depot)
        self.defects: list[Exception] = []
        self.app = make_hotfix_app(self.serving.pointers, lambda: NOW, self.defects.append)

    def get(
        self, path: str, headers: dict[str, str] | None = None, query: bytes = b""
    ) -> tuple[int, bytes]:
        return ask(self.app, "GET", path, headers or {}, query_string=query)

    def post(
        self, path: str, body: bytes, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        return ask(self.app, "POST", path, PROOF if headers is None else headers, body)


@pytest.fixture
def called(tmp_path: Path) -> Called:
    return Called(tmp_path)


def told(answer: tuple[int, bytes]) -> tuple[int, str]:
    status, body = answer
    return status, json.loads(body)["error"]


def test_a_machine_gets_its_pointer(called: Called) -> None:
    status, body = called.get("/v1/hotfix", PROOF, QUERY)

    assert status == 200
    assert json.loads(body)["hotfixes"] == {BASE: FIX}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "proof-of-m1"},
        {"Authorization": "Basic proof-of-m1"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer forged"},
    ],
)
def test_without_a_proof_that_holds_nothing_is_told(
    called: Called, headers: dict[str, str]
) -> None:
    assert told(called.get("/v1/hotfix", headers, QUERY)) == (401, "the proof does not hold")
    assert told(called.post("/v1/hotfix-report", b"{}", headers)) == (
        401,
        "the proof does not hold",
    )


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (b"component=a&component=fairlead-node", "the query cannot be read"),
        (b"component=%ff", "the query cannot be read"),
        (b"&".join([b"a=b"] * 50), "the query cannot be read"),
        (b"component=" + b"x" * 1000, "the query cannot be read"),
        (b"", "expected a component, one of: fairlead-node, aksNodeController"),
        (b"version=202611.16.0", "expected a component, one of: fairlead-node, aksNodeController"),
    ],
)
def test_a_query_that_says_nothing_usable_is_refused(
    called: Called, query: bytes, problem: str
) -> None:
    assert told(called.get("/v1/hotfix", PROOF, query)) == (400, problem)


def test_a_boot_report_is_counted(called: Called) -> None:
    text = report_text(run="1", used=FIX)
    assert called.post("/v1/hotfix-report", text) == (204, b"")
    assert called.post("/v1/hotfix-report", text) == (204, b"")

    standing = called.serving.ledger.standings([make_fix()])[FIX]
    assert standing.fixed == Boots(good=1)


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"[]", 400), (b"{", 400), (b" " * 70_000, 413), (b" " * (2 << 20), 413)],
)
def test_a_body_that_is_no_report_is_refused(called: Called, body: bytes, status: int) -> None:
    assert told(called.post("/v1/hotfix-report", body))[0] == status
    assert called.defects == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/hotfix", 405),
        ("GET", "/v1/hotfix-report", 405),
        ("DELETE", "/depot/metadata/root.json", 405),
        ("GET", "/v1/hotfix/", 404),
        ("GET", "/", 404),
        ("GET", "/depot", 404),
    ],
)
def test_any_other_path_or_method_is_refused(
    called: Called, method: str, path: str, status: int
) -> None:
    assert ask(called.app, method, path, PROOF)[0] == status


def test_the_service_says_that_it_is_up(called: Called) -> None:
    assert called.get("/healthz") == (200, b'{"status":"up"}\n')


def test_everybody_may_read_metadata_and_packages(called: Called) -> None:
    metadata = called.depot.metadata / "timestamp.json"

    assert called.get("/depot/metadata/timestamp.json") == (200, metadata.read_bytes())
    assert called.get("/depot/metadata/1.root.json")[0] == 200
    assert called.get(f"/depot/{PACKAGE}") == (200, b"package" * 50_000)
    assert ask(called.app, "HEAD", f"/depot/{PACKAGE}", {}) == (200, b"")


def test_apt_gets_the_files_of_a_repository_without_suites(called: Called) -> None:
    (called.depot.apt / "InRelease").write_bytes(b"signed")

    assert called.get("/depot/apt/./InRelease") == (200, b"signed")
    assert called.get(f"/depot/{PACKAGE.replace('apt/', 'apt/./')}")[0] == 200
    assert called.get("/depot/apt/././InRelease")[0] == 404
    assert called.get("/depot/apt/./../keys/online.pem")[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "keys/online.pem",
        "keys/root-1.pem",
        "keys/repository/secring.gpg",
        "catalog.json",
        "ledger.db",
        "ledger.db-wal",
        "ledger.lock",
        ".lock",
        "metadata/../catalog.json",
        "metadata/../keys/online.pem",
        "../depot/metadata/root.json",
        "apt/../keys/online.pem",
        "apt/pool/",
        "apt/pool/other_1_all.deb",
        "apt//Packages",
        "/metadata/root.json",
        "metadata/root.json/",
        "metadata/root.json\0",
        "metadata/root.json\n",
        "metadata/",
        "",
    ],
)
def test_nothing_else_of_the_depot_is_served(called: Called, path: str) -> None:
    (called.depot.apt / "pool" / "other_1_all.deb").write_bytes(b"not on offer")

    assert told(called.get(f"/depot/{path}")) == (404, "the depot serves no such file")


def test_a_package_that_was_withdrawn_is_not_served(called: Called) -> None:
    called.depot.write_catalog(make_catalog([make_fix(state=State.WITHDRAWN, reason="it broke")]))

    assert told(called.get(f"/depot/{PACKAGE}"))[0] == 404


def test_no_link_is_followed_to_a_secret(called: Called) -> None:
    for name in ("Packages", "Release"):
        (called.depot.apt / name).symlink_to(called.depot.keys / "online.pem")
    (called.depot.directory / "rpm").mkdir()
    (called.depot.directory / "rpm" / "repodata").symlink_to(called.depot.metadata)
    (called.depot.metadata / "repomd.xml").write_text("x")

    for path in ("apt/Packages", "apt/Release", "rpm/repodata/repomd.xml"):
        assert told(called.get(f"/depot/{path}"))[0] == 404


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(
    ["metadata", "keys", "..", ".", "apt", "online.pem", "root.json", "pool", "", "ledger.db"]
), max_size=6).map("/".join))  # fmt: skip
def test_whatever_path_is_asked_for_only_public_files_are_opened(path: str) -> None:
    depot = Depot(Path("/nonexistent"))

    assert open_public(depot, path, make_catalog([])) is None
    if is_public(path, make_catalog([])):
        assert path.split("/")[0] in ("metadata", "apt", "rpm")
        assert ".." not in path
