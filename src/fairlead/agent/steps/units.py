"""
The two services' unit files, where the image brings none, their links, and one reload for all.

Packages bring units; release archives do not. A unit that is not ours is left alone. Services are
enabled before the reload: since systemd 254 a link that it has not read counts as a changed file.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.programs import program_path
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import UNITS, has_systemd, run_command, units_properties
from fairlead.agent.steps.write import PUBLIC, apply_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

CONTAINERD = "containerd.service"
KUBELET = "kubelet.service"

# Where packages put units; /lib is a link to /usr/lib on current images.
VENDOR_UNITS = ("/usr/lib/systemd/system", "/lib/systemd/system")

# The first line of a unit that we wrote, by which we know it again.
OURS = "# Written by fairlead-node: the image brings no unit for this program.\n"

CONTAINERD_TEXT = """\
[Unit]
Description=containerd container runtime
After=network.target local-fs.target

[Service]
Type=notify
ExecStartPre=-/sbin/modprobe overlay
ExecStart={program}
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
"""

# StartLimitIntervalSec=0: a kubelet that waits for its API server may fail for longer than
# systemd's patience.
KUBELET_TEXT = """\
[Unit]
Description=Kubernetes kubelet
After=containerd.service network-online.target
Wants=containerd.service network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={program}
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
"""

TEXTS = {CONTAINERD: CONTAINERD_TEXT, KUBELET: KUBELET_TEXT}


def apply_units(host: Host, _config: NodeConfig) -> StepOutcome:
    """Have a unit for each service, and systemd know every file that the steps wrote."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    for unit, text in TEXTS.items():
        found = _find_unit(host, unit)
        if found is not None:
            outcome.already.append(found)
            continue
        program = program_path(host, unit.removesuffix(".service"))
        content = OURS + text.format(program=program)
        apply_file(host, f"{UNITS}/{unit}", content.encode(), PUBLIC, outcome)
    if has_systemd(host):
        # Asked of systemd instead of remembered: right also after a run that was killed.
        states = units_properties(host, "Id,NeedDaemonReload,UnitFileState", *TEXTS)
        for unit in TEXTS:
            _enable(host, unit, states, outcome)
        _reload(host, states, outcome)
    return outcome


def _enable(host: Host, unit: str, states: dict[str, dict[str, str]], outcome: StepOutcome) -> None:
    if states.get(unit, {}).get("UnitFileState") == "enabled":
        outcome.already.append(f"{unit} is enabled")
        return
    run_command(host, ["systemctl", "enable", "--no-reload", unit])
    outcome.changed.append(f"enabled {unit}")


def _reload(host: Host, states: dict[str, dict[str, str]], outcome: StepOutcome) -> None:
    if outcome.changed or any(state.get("NeedDaemonReload") == "yes" for state in states.values()):
        run_command(host, ["systemctl", "daemon-reload"])
        outcome.changed.append("ran systemctl daemon-reload")
    else:
        outcome.already.append("systemd knows every unit file")


def _find_unit(host: Host, unit: str) -> str | None:
    """Return the path of a unit file that is not ours, or None."""
    for directory in (UNITS, *VENDOR_UNITS):
        content = find_file(host, f"{directory}/{unit}")
        if content is not None and not content.startswith(OURS.encode()):
            return f"{directory}/{unit}"
    return None
