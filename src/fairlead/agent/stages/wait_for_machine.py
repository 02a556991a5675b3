"""Wait for what bootstrap scripts expect of a machine: network and host name. See readiness.py."""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.readiness import wait_for_boot, wait_for_host_name
from fairlead.agent.stages.stage import done, skipped
from fairlead.agent.steps.systemd import has_systemd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot, StageEnd


def wait_for_machine(boot: Boot) -> StageEnd:
    """Return when scripts may run; UnavailableError if the machine does not come that far."""
    host = boot.run.host
    if not has_systemd(host):
        return skipped("no systemd here")
    if not _runs_scripts(boot):
        return skipped("no scripts: the built-in steps wait before they start the kubelet")
    wait_for_boot(host)
    return done(f"host name {wait_for_host_name(host)}")


def _runs_scripts(boot: Boot) -> bool:
    """Say whether what provisions is not ours: scripts, an NBC command, or another program."""
    script = boot.run.layout.bootstrap_script
    is_ours = not (boot.foreign_agent or boot.inputs.nbc_command)
    return not is_ours or is_regular_file(boot.run.host, script)
