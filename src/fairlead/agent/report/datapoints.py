"""
When the parts of a boot began and ended, as systemd and cloud-init know it.

systemd's stamps are CLOCK_MONOTONIC, as are our stages; cloud-init's own are wall clock (22.4) or
uptime (25.1), and are put onto the same axis. A wall clock that was set during the boot would
misplace them, so what falls outside the boot is left out. Of a unit that ran more than once
systemd keeps the stamps of the last run only.

systemd is asked on its own socket, or by two `systemctl show` where that does not answer. A host
without a running systemd, a unit that never ran or a systemd that hangs gives '' or nothing:
datapoints explain a boot, they never fail it.
"""

from __future__ import annotations

from fairlead.agent.report import systemd_bus
from fairlead.agent.report.clock_text import NS_PER_MS, NS_PER_S, status_time
from fairlead.agent.steps.systemd import has_systemd
from fairlead.contract.json_text import parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.agent.host import Host

# systemd answers in milliseconds; one that does not answer in 2 s is itself the news.
SYSTEMD_DEADLINE_S = 2.0

# The datapoint's name in provision.json, and the units whose start it is: the first that ran.
# cloud-init 25 calls its network stage cloud-init-network, Azure Linux its guest agent waagent.
POINTS = (
    ("CloudInitLocalStartTime", ("cloud-init-local.service",)),
    ("CloudInitStartTime", ("cloud-init.service", "cloud-init-network.service")),
    ("CloudFinalStartTime", ("cloud-final.service",)),
    ("NetworkdStartTime", ("systemd-networkd.service",)),
    ("GuestAgentStartTime", ("walinuxagent.service", "waagent.service")),
    ("ContainerdStartTime", ("containerd.service",)),
    ("KubeletStartTime", ("kubelet.service",)),
)

# Units that are no datapoint of their own and belong into the timeline.
LANDMARKS = (
    "cloud-init-main.service",
    "cloud-config.service",
    "fairlead-node-seed.service",
    "fairlead-node.service",
    "aks-node-controller.service",
    "sysinit.target",
    "network-online.target",
    "multi-user.target",
    "cloud-init.target",
)

UNITS = (*(unit for _, units in POINTS for unit in units), *LANDMARKS)

UNIT_PROPERTIES = (
    "ActiveState",
    "InactiveExitTimestampMonotonic",
    "ActiveEnterTimestampMonotonic",
    "InactiveEnterTimestampMonotonic",
)

MANAGER_PROPERTIES = (
    "KernelTimestamp",
    "FirmwareTimestampMonotonic",
    "LoaderTimestampMonotonic",
    "InitRDTimestampMonotonic",
    "UserspaceTimestampMonotonic",
    "GeneratorsStartTimestampMonotonic",
    "GeneratorsFinishTimestampMonotonic",
    "UnitsLoadStartTimestampMonotonic",
    "UnitsLoadFinishTimestampMonotonic",
    "FinishTimestampMonotonic",
)

# systemd's own work, by the stamps between which it happens.
MANAGER_SPANS = (
    ("generators", "GeneratorsStartTimestampMonotonic", "GeneratorsFinishTimestampMonotonic"),
    ("load-units", "UnitsLoadStartTimestampMonotonic", "UnitsLoadFinishTimestampMonotonic"),
    ("startup", "UserspaceTimestampMonotonic", "FinishTimestampMonotonic"),
)

CLOUD_INIT_STATUS = "/run/cloud-init/status.json"
CLOUD_INIT_STAGES = ("init-local", "init", "modules-config", "modules-final")

# A time of cloud-init below this (2001; 31 years of uptime) counts from the kernel's start.
LEAST_EPOCH_S = 1e9

FAILED = "failed"

US_PER_MS = 1000
US_PER_S = 1_000_000
US_PER_MIN = 60 * US_PER_S
NS_PER_US = 1000


class BootStamps:
    """
    What systemd and cloud-init said about this boot, and what both clocks said just before.

    All dicts are empty where nothing is known. `manager` and `units` hold properties as text.
    """

    __slots__ = ("cloud_init", "manager", "monotonic_ns", "now_ns", "units")

    def __init__(self, now_ns: int, monotonic_ns: int) -> None:
        self.now_ns = now_ns
        self.monotonic_ns = monotonic_ns
        self.manager: dict[str, str] = {}
        self.units: dict[str, dict[str, str]] = {}
        self.cloud_init: dict[str, Any] = {}

    def started_ns(self, monotonic_us: int) -> int:
        """Return the wall clock's nanoseconds of a stamp."""
        return self.now_ns - self.monotonic_ns + monotonic_us * NS_PER_US


def read_boot_stamps(host: Host) -> BootStamps:
    """Return what is known by now. Never raises; ends in SYSTEMD_DEADLINE_S or twice that."""
    monotonic_ns = host.monotonic_ns()
    stamps = BootStamps(host.now_ns(), monotonic_ns)
    if not has_systemd(host):
        return stamps
    try:
        _ask(host, stamps)
    except TimeoutError:
        return stamps  # systemctl would wait for the same systemd
    except OSError:
        blocks = _show(host, MANAGER_PROPERTIES)
        if not blocks:
            return stamps
        stamps.manager = blocks[0]
        shown = _show(host, ("Id", *UNIT_PROPERTIES), UNITS)
        stamps.units = {block.get("Id", ""): block for block in shown}
    stamps.cloud_init = _read_cloud_init(host)
    return stamps


def _ask(host: Host, stamps: BootStamps) -> None:
    """Fill in what systemd's own socket says. Raises OSError if it does not say it all."""
    questions = [
        (systemd_bus.MANAGER, systemd_bus.MANAGER_INTERFACE, name) for name in MANAGER_PROPERTIES
    ]
    for unit in UNITS:
        place = systemd_bus.unit_object(unit)
        questions += [(place, systemd_bus.UNIT_INTERFACE, name) for name in UNIT_PROPERTIES]
    answers = iter(systemd_bus.ask_systemd(host, questions, SYSTEMD_DEADLINE_S))
    stamps.manager = {name: _told(next(answers)) for name in MANAGER_PROPERTIES}
    stamps.units = {
        unit: {name: _told(next(answers)) for name in UNIT_PROPERTIES} for unit in UNITS
    }


def _told(answer: str | int | None) -> str:
    # As systemctl writes a moment that has not come.
    return str(answer or "")


def _show(
    host: Host, properties: tuple[str, ...], units: tuple[str, ...] = ()
) -> list[dict[str, str]]:
    """Return one dict per unit, or one for the manager; none if systemd did not answer."""
    command = ["systemctl", "show", "--property=" + ",".join(properties), *units]
    try:
        shown = host.run(command, deadline_s=SYSTEMD_DEADLINE_S)
    except OSError:
        return []
    if shown.is_timeout or shown.exit_code != 0:
        return []
    return [
        dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        for block in shown.output.decode("utf-8", "replace").split("\n\n")
        if "=" in block
    ]


def _read_cloud_init(host: Host) -> dict[str, Any]:
    try:
        status = plain(parse_json(host.read_file(CLOUD_INIT_STATUS)))
    except (OSError, InputError):
        return {}
    stages = status.get("v1") if isinstance(status, dict) else None
    return stages if isinstance(stages, dict) else {}


def datapoints_of(stamps: BootStamps) -> dict[str, str]:
    """Return every datapoint of provision.json; '' where it is not known."""
    points = {
        # systemd knows when the kernel started unless it runs in a container.
        "KernelStartTime": status_time(stamps.started_ns(0))
        if stamps.manager.get("KernelTimestamp")
        else "",
        "SystemdSummary": summary_of(stamps.manager),
    }
    for name, units in POINTS:
        starts = [_stamp(stamps.units.get(unit, {}), "InactiveExit") for unit in units]
        start_us = max(starts)
        points[name] = status_time(stamps.started_ns(start_us)) if start_us else ""
    return points


def summary_of(manager: dict[str, str]) -> str:
    """Return the sentence that `systemd-analyze` begins with; '' before the boot has finished."""
    finish_us = _stamp(manager, "Finish")
    userspace_us = _stamp(manager, "Userspace")
    if not finish_us or finish_us < userspace_us:
        return ""
    if not manager.get("KernelTimestamp"):
        return f"Startup finished in {_timespan(finish_us - userspace_us)} (userspace)"
    firmware_us, loader_us = _stamp(manager, "Firmware"), _stamp(manager, "Loader")
    initrd_us = _stamp(manager, "InitRD")
    parts = (
        (firmware_us - loader_us, "firmware"),
        (loader_us, "loader"),
        (initrd_us or userspace_us, "kernel"),
        (userspace_us - initrd_us if initrd_us else 0, "initrd"),
        (finish_us - userspace_us, "userspace"),
    )
    shown = " + ".join(f"{_timespan(us)} ({name})" for us, name in parts if us > 0)
    return f"Startup finished in {shown} = {_timespan(firmware_us + finish_us)}"


def boot_fact_of(stamps: BootStamps) -> dict[str, Any]:
    """
    Return the boot for the flight record; empty if the start of PID 1 is not known.

    `pid1_us` is that start on CLOCK_MONOTONIC. Everything else is [begin], [begin, end] or
    [begin, end, "failed"] in ms after it, in three groups: systemd, units and cloud-init.
    """
    pid1_us = _stamp(stamps.manager, "Userspace")
    if not pid1_us:
        return {}
    groups = {
        "systemd": _systemd_spans(stamps.manager, pid1_us),
        "units": _unit_spans(stamps.units, pid1_us),
        "cloud-init": _cloud_init_spans(stamps, pid1_us),
    }
    return {"pid1_us": pid1_us, **{name: spans for name, spans in groups.items() if spans}}


def _systemd_spans(manager: dict[str, str], pid1_us: int) -> dict[str, list[Any]]:
    spans: dict[str, list[Any]] = {}
    if manager.get("KernelTimestamp"):
        # The kernel's start is zero on its own clock.
        initrd_us = _stamp(manager, "InitRD")
        spans["kernel"] = [_ms(-pid1_us), _ms((initrd_us or pid1_us) - pid1_us)]
        if initrd_us:
            spans["initrd"] = [_ms(initrd_us - pid1_us), 0.0]
    for name, begin, end in MANAGER_SPANS:
        begin_us, end_us = _number(manager, begin), _number(manager, end)
        if begin_us and end_us >= begin_us:
            spans[name] = [_ms(begin_us - pid1_us), _ms(end_us - pid1_us)]
    return spans


def _unit_spans(units: dict[str, dict[str, str]], pid1_us: int) -> dict[str, list[Any]]:
    spans = {}
    for unit in UNITS:
        properties = units.get(unit, {})
        begin_us = _stamp(properties, "InactiveExit")
        if begin_us:
            # A one-shot that failed was never active; what it was in an earlier life is past.
            ends = [_stamp(properties, name) for name in ("ActiveEnter", "InactiveEnter")]
            end_us = next((end for end in ends if end >= begin_us), 0)
            span: list[Any] = [_ms(begin_us - pid1_us)]
            if end_us:
                span.append(_ms(end_us - pid1_us))
                if properties.get("ActiveState") == FAILED:
                    span.append(FAILED)
            spans[unit.removesuffix(".service")] = span
    return spans


def _cloud_init_spans(stamps: BootStamps, pid1_us: int) -> dict[str, list[Any]]:
    spans: dict[str, list[Any]] = {}
    for name in CLOUD_INIT_STAGES:
        stage = stamps.cloud_init.get(name)
        if not isinstance(stage, dict):
            continue
        begin_ms = _stage_ms(stamps, stage.get("start"), pid1_us)
        end_ms = _stage_ms(stamps, stage.get("finished"), pid1_us)
        if begin_ms is None:
            continue
        span: list[Any] = [begin_ms]
        if end_ms is not None and end_ms >= begin_ms:
            span.append(end_ms)
            if stage.get("errors"):
                span.append(FAILED)
        spans[name] = span
    return spans


def _stage_ms(stamps: BootStamps, seconds: Any, pid1_us: int) -> float | None:
    """Return where in the boot cloud-init's time lies; None if it lies outside."""
    if not isinstance(seconds, (int, float)) or not 0 < seconds < stamps.now_ns / NS_PER_S:
        return None
    ns = int(seconds * NS_PER_S)
    if seconds >= LEAST_EPOCH_S:
        ns -= stamps.now_ns - stamps.monotonic_ns
    if not pid1_us * NS_PER_US <= ns <= stamps.monotonic_ns:
        return None
    return round((ns - pid1_us * NS_PER_US) / NS_PER_MS, 1)


def _stamp(properties: dict[str, str], name: str) -> int:
    return _number(properties, name + "TimestampMonotonic")


def _number(properties: dict[str, str], name: str) -> int:
    """Return microseconds; 0, as systemd writes it, for what has not happened."""
    text = properties.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _ms(us: int) -> float:
    return round(us / US_PER_MS, 1)


def _timespan(us: int) -> str:
    """Return `1min 2.345s`, `2.345s` or `345ms`, as systemd writes time spans."""
    if us < US_PER_S:
        return f"{us // US_PER_MS}ms"
    minutes, rest_us = divmod(us, US_PER_MIN)
    seconds = f"{rest_us // US_PER_MS / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    return f"{minutes}min {seconds}" if minutes else seconds
