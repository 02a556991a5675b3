"""What systemd says on its own socket is what `systemctl show` prints, whatever its version."""

import json

import pytest

from boot.boot_case import CASES, booted, load_case
from boot.node import missing_tools
from boot.roots import SUITES

pytestmark = [pytest.mark.root, pytest.mark.slow]

COMPARE = """
import json, sys
sys.path.insert(0, "/usr/lib/fairlead/fairlead-node.d")
from fairlead.agent.host import RealHost
from fairlead.agent.report import datapoints
host, stamps = RealHost(), datapoints.BootStamps(0, 0)
datapoints._ask(host, stamps)
[manager] = datapoints._show(host, datapoints.MANAGER_PROPERTIES)
shown = datapoints._show(host, ("Id", *datapoints.UNIT_PROPERTIES), datapoints.UNITS)
units = {block.pop("Id"): block for block in shown}
print(json.dumps([stamps.manager, manager, stamps.units, units]))
"""


def said(properties: dict[str, str]) -> dict[str, str]:
    """What has a value: systemctl writes 0 for a moment that has not come."""
    return {name: value for name, value in properties.items() if value not in ("", "0")}


@pytest.mark.parametrize("suite", SUITES)
def test_the_socket_says_what_systemctl_prints(suite: str) -> None:
    missing = missing_tools()
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")

    with booted(load_case(CASES / "floor-built-in-steps"), suite) as result:
        compared = result.node.enter("python3", "-IS", "-c", COMPARE, timeout_s=60)
        record = result.node.read("/var/log/fairlead/record.jsonl")

    assert compared.returncode == 0, compared.stderr
    manager, shown_manager, units, shown_units = json.loads(compared.stdout)
    assert said(manager) == said(shown_manager)
    assert "UserspaceTimestampMonotonic" in said(manager)
    assert {name: said(unit) for name, unit in units.items()} == {
        # One name of two for a unit that an alias points to; both are asked for.
        name: said(shown_units.get(name, unit))
        for name, unit in units.items()
    }
    assert said(units["cloud-init-local.service"])["ActiveState"] == "active"
    assert '"pid1_us"' in record
