"""
The swap file: made once, and switched on at every boot by a unit.

Whether it is in use is read from /proc/swaps. A file that is not in use is made afresh, because
one that a crash left half made looks like a whole one.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd, run_command
from fairlead.agent.steps.taken_files import SWAP_FILE, SWAP_UNIT, SWAP_UNIT_FILE
from fairlead.agent.steps.write import PUBLIC, SECRET, apply_absence, apply_file
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

UNIT_TEXT = f"""\
[Unit]
Description=Swap file of this node

[Swap]
What={SWAP_FILE}

[Install]
WantedBy=swap.target
"""

KIB_PER_MIB = 1024

# mkswap keeps the first page for itself; the largest page of a Linux machine is 64 KiB.
HEADER_KIB = 64

# Reserving blocks is quick; writing them out, where the file system cannot reserve, is about
# 100 MB/s on a small cloud disk, and 32 GB is a large swap file.
RESERVE_DEADLINE_S = 30.0
FILL_DEADLINE_S = 360.0


def apply_swap(host: Host, config: NodeConfig) -> StepOutcome:
    """Have a swap file of the size asked for in use, or none of ours."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    if not config.flag("custom_linux_os_config.enable_swap_config"):
        _remove_swap(host, outcome)
        return outcome
    size_mib = config.number("custom_linux_os_config.swap_file_size")
    if size_mib <= 0:
        raise InputError(
            f"{size_mib} is not a size",
            field="custom_linux_os_config.swap_file_size",
            hint="enable_swap_config needs the size in MB",
        )
    apply_file(host, SWAP_UNIT_FILE, UNIT_TEXT.encode(), PUBLIC, outcome)
    if has_systemd(host):
        _switch_on(host, size_mib, outcome)
    return outcome


def _switch_on(host: Host, size_mib: int, outcome: StepOutcome) -> None:
    size_kib = _size_in_use(host)
    if 0 <= size_mib * KIB_PER_MIB - size_kib <= HEADER_KIB:
        outcome.already.append(f"{SWAP_FILE} is in use")
        return
    if size_kib:
        run_command(host, ["systemctl", "stop", SWAP_UNIT])
    # Created empty with its mode first: swap holds the memory of every process.
    host.write_file(SWAP_FILE, b"", SECRET, sync=False)
    try:
        run_command(host, ["fallocate", "-l", f"{size_mib}MiB", SWAP_FILE], RESERVE_DEADLINE_S)
    except UnavailableError:
        fill = ["dd", "if=/dev/zero", f"of={SWAP_FILE}", "bs=1M", f"count={size_mib}"]
        run_command(host, fill, FILL_DEADLINE_S)
    run_command(host, ["mkswap", SWAP_FILE], RESERVE_DEADLINE_S)
    run_command(host, ["systemctl", "enable", "--now", SWAP_UNIT])
    outcome.changed.append(f"made and switched on {SWAP_FILE}, {size_mib} MB")


def _remove_swap(host: Host, outcome: StepOutcome) -> None:
    if host.file_mode(SWAP_UNIT_FILE) is None:
        return
    if has_systemd(host):
        run_command(host, ["systemctl", "disable", "--now", SWAP_UNIT])
    # The unit goes last: while it is there, a run that was killed half way is repeated.
    apply_absence(host, SWAP_FILE, outcome)
    apply_absence(host, SWAP_UNIT_FILE, outcome)


def _size_in_use(host: Host) -> int:
    """Return the size in KiB that /proc/swaps shows for our file; 0 if it is not in use."""
    for line in (find_file(host, "/proc/swaps") or b"").decode().splitlines():
        columns = line.split()
        if columns[:1] == [SWAP_FILE]:
            return int(columns[2])
    return 0
