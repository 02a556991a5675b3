"""A second run on a machine that is a node changes nothing, whatever its systemd is."""

import json

import pytest

from boot.boot_case import CASES, booted, load_case
from boot.node import missing_tools
from boot.roots import SUITES

pytestmark = [pytest.mark.root, pytest.mark.slow]

STATUS = "/var/log/fairlead/provision.json"


@pytest.mark.parametrize("suite", SUITES)
def test_a_second_run_writes_starts_and_reloads_nothing(suite: str) -> None:
    missing = missing_tools()
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")

    with booted(load_case(CASES / "floor-built-in-steps"), suite) as result:
        first = json.loads(result.node.read(STATUS))
        again = result.node.enter("fairlead-node", "boot", "--again", timeout_s=60)
        second = json.loads(result.node.read(STATUS))

    assert "systemd-units: ran systemctl daemon-reload" in first["Output"]
    assert (again.returncode, second["ExitCode"]) == (0, "0"), again.stderr
    assert second["fairlead"]["run"] != first["fairlead"]["run"]
    changes = [line for line in second["Output"].splitlines() if ": already: " not in line]
    assert changes == []
