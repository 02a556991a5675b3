"""What a person at a cluster is told of fixes where some of what is kept cannot be read."""

from datetime import UTC, datetime

import pytest

from fairlead.kube.front.published import SeenFixes
from fairlead.kube.resource import CONFIG_MAPS, HOTFIX_LEDGERS, HOTFIXES
from kube.hotfix_catalog import BASE, FIX, catalog_text
from unit.kube.object_server import NAMESPACE, ObjectServer
from unit.kube.small_server import client_of, small_server

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)


@pytest.mark.parametrize(("kept", "problem"), [("{", True), (None, False)])
def test_a_damaged_ledger_is_told_in_the_place_of_fixes(kept: str | None, problem: bool) -> None:
    server = ObjectServer()
    text = catalog_text(everyone=False).decode()
    server.put(CONFIG_MAPS, "fairlead-hotfix-catalog", data={"catalog.json": text})
    server.put(HOTFIXES, FIX, status={"region": "local"})
    if kept is not None:
        server.put(HOTFIX_LEDGERS, f"fairlead-node-{BASE}", spec={"kept": kept})

    with small_server(server) as address, client_of(address) as client:
        found = SeenFixes(client, NAMESPACE, lambda: NOW).read()

    assert (list(found.by_version) == [FIX]) is not problem
    assert ("HotfixLedger a/fairlead-node-202611.17 cannot be read" in found.problem) is problem
