"""
When the parts of a boot started, as systemd knows it.

One `systemctl show` answers for all units. A host without a running systemd, a unit that never
ran or a systemctl that hangs gives empty strings: datapoints explain a boot, they never fail it.
"""

from __future__ import annotations

from fairlead.agent.clock_text import NS_PER_S, status_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

SYSTEMD_IS_RUNNING = "/run/systemd/system"

# The datapoint's name in provision.json, and the unit whose start it is.
UNITS = (
    ("CloudInitLocalStartTime", "cloud-init-local.service"),
    ("CloudInitStartTime", "cloud-init.service"),
    ("CloudFinalStartTime", "cloud-final.service"),
    ("NetworkdStartTime", "systemd-networkd.service"),
    ("GuestAgentStartTime", "walinuxagent.service"),
    ("ContainerdStartTime", "containerd.service"),
    ("KubeletStartTime", "kubelet.service"),
)

# systemctl answers in 5 ms; a systemd that does not answer in 2 s is itself the news.
SYSTEMCTL_DEADLINE_S = 2.0


def is_systemd_running(host: Host) -> bool:
    """Say whether units can be started on this host."""
    return not host.is_directory and host.file_mode(SYSTEMD_IS_RUNNING) is not None


def read_datapoints(host: Host) -> dict[str, str]:
    """Return every datapoint; '' where it is not known."""
    points = {"KernelStartTime": "", "SystemdSummary": "", **{name: "" for name, _ in UNITS}}
    if not is_systemd_running(host):
        return points
    points["KernelStartTime"] = _kernel_start(host)
    units = [unit for _, unit in UNITS]
    try:
        shown = host.run(
            ["systemctl", "show", "--property=Id,InactiveExitTimestamp", *units],
            deadline_s=SYSTEMCTL_DEADLINE_S,
        )
    except OSError:
        return points
    starts = _starts_of(shown.output.decode("utf-8", "replace"))
    for name, unit in UNITS:
        points[name] = starts.get(unit, "")
    return points


def _starts_of(shown: str) -> dict[str, str]:
    """Read blocks of `Id=` and `InactiveExitTimestamp=` lines, separated by blank lines."""
    starts = {}
    for block in shown.split("\n\n"):
        properties = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        starts[properties.get("Id", "")] = properties.get("InactiveExitTimestamp", "")
    return starts


def _kernel_start(host: Host) -> str:
    try:
        uptime_s = float(host.read_file("/proc/uptime").split()[0])
    except (OSError, ValueError, IndexError):
        return ""
    return status_time(host.now_ns() - int(uptime_s * NS_PER_S))
