"""
Swap, huge pages, containerd's limits and the time the scripts get.

The scripts turn the spaces of CONTAINERD_ULIMITS into line breaks, hence the one at its end.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import render_flag, sorted_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine

ULIMITS = "custom_linux_os_config.ulimit_config"
ULIMIT_SETTINGS = {"no_file": "LimitNOFILE", "max_locked_memory": "LimitMEMLOCK"}

DEFAULT_SCRIPT_SECONDS = 900
MOST_SCRIPT_SECONDS = 6 * 60 * 60


def swap_file(machine: Machine) -> str:
    """SHOULD_CONFIG_SWAP_FILE."""
    config = machine.config
    enabled = config.flag("custom_linux_os_config.enable_swap_config")
    return render_flag(enabled and config.number("custom_linux_os_config.swap_file_size") > 0)


def huge_page_setting(machine: Machine) -> str:
    """SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE."""
    config = machine.config
    support = config.text("custom_linux_os_config.transparent_hugepage_support")
    return render_flag(support or config.text("custom_linux_os_config.transparent_defrag"))


def containerd_ulimits(machine: Machine) -> str:
    """CONTAINERD_ULIMITS. A limit that is set to nothing is written as such."""
    if not machine.config.has(ULIMITS):
        return ""
    limits = machine.config.mapping(ULIMITS)
    settings = {ULIMIT_SETTINGS[name]: value for name, value in limits.items()}
    return "[Service] " + (sorted_pairs(settings, " ") + " " if settings else "")


def script_seconds(machine: Machine) -> str:
    """CSE_TIMEOUT. A time out of range is replaced, not clamped."""
    seconds = machine.config.number("cse_timeout")
    return str(seconds if 0 < seconds <= MOST_SCRIPT_SECONDS else DEFAULT_SCRIPT_SECONDS)
