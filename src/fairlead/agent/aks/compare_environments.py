"""
Compare the environment of an NBC command with the one its node config would give.

While a fleet moves from one to the other, the difference shows what would change. It is an
event, never a failure, and it names variables only: values may be secrets.
"""

from __future__ import annotations

import binascii

from fairlead.agent.aks.script_environment import (
    read_components,
    read_usable_config,
    script_environment,
)
from fairlead.agent.run import INFORMATIONAL
from fairlead.errors import FairleadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot

# Variables that differ by design.
EXPECTED_DIFFERENCES = (
    "CLOUD_INIT_STATUS_SCRIPT",
    "HYPERKUBE_URL",
    "MCR_REPOSITORY_BASE",
    "BLOCK_OUTBOUND_NETWORK",
    "REPO_DEPOT_ENDPOINT",
    "SKIP_WAAGENT_HOLD",
)


def report_differences(boot: Boot, nbc_variables: dict[str, str]) -> None:
    """Leave an event that says where the two environments differ. Best effort."""
    start_ns = boot.run.host.monotonic_ns()
    try:
        config = read_usable_config(boot)
        from_config = script_environment(boot, config, read_components(boot))
    except (FairleadError, OSError) as error:
        boot.run.log("WARN", "environments not compared", error=str(error))
        return
    differences = differences_of(from_config, nbc_variables)
    if differences:
        message = f"env var differences ({len(differences)}): {'; '.join(differences)}"
    else:
        message = "env vars match between provision-config and nbc-cmd"
    boot.run.event("CompareEnvs", message, INFORMATIONAL, start_ns)


def differences_of(from_config: dict[str, str], from_nbc: dict[str, str]) -> list[str]:
    """Return one word and one name per differing variable, sorted by name."""
    differences = []
    for name in sorted({*from_config, *from_nbc} - set(EXPECTED_DIFFERENCES)):
        if name not in from_nbc:
            differences.append(f"only-in-pc: {name}")
        elif name not in from_config:
            differences.append(f"only-in-nbc: {name}")
        elif not _is_same(name, from_config[name], from_nbc[name]):
            differences.append(f"differs: {name}")
    return differences


def _is_same(name: str, one: str, other: str) -> bool:
    if one.replace('"', "") == other.replace('"', ""):
        return True
    if name == "SYSCTL_CONTENT":
        return _sysctl_settings(one) == _sysctl_settings(other) is not None
    return False


def _sysctl_settings(content: str) -> dict[str, str] | None:
    """Return the settings of a base64 sysctl file; None if it is not base64."""
    try:
        text = binascii.a2b_base64(content.encode("utf-8", "replace"))
    except binascii.Error:
        return None
    settings = {}
    for line in text.decode("utf-8", "replace").splitlines():
        key, separator, value = line.partition("=")
        if separator:
            settings[key.strip()] = value.strip()
    return settings
