"""
Transparent huge pages: two kernel switches that no sysctl key reaches.

systemd-tmpfiles sets them from the same file at every boot and when we ask.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd, run_command
from fairlead.agent.steps.write import PUBLIC, apply_absence, apply_file
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

SETTINGS_FILE = "/etc/tmpfiles.d/fairlead-huge-pages.conf"
SWITCHES = "/sys/kernel/mm/transparent_hugepage"

# field of custom_linux_os_config: (switch, what the kernel takes)
FIELDS = {
    "transparent_hugepage_support": ("enabled", ("always", "madvise", "never")),
    "transparent_defrag": ("defrag", ("always", "defer", "defer+madvise", "madvise", "never")),
}


def huge_page_switches(config: NodeConfig) -> dict[str, str]:
    """Return the word for each switch, by path, that this config sets."""
    switches = {}
    for field, (switch, words) in FIELDS.items():
        word = config.text(f"custom_linux_os_config.{field}")
        if word and word not in words:
            raise InputError(
                "not a word the kernel takes",
                field=f"custom_linux_os_config.{field}",
                hint=f"expected one of {', '.join(words)}",
            )
        if word:
            switches[f"{SWITCHES}/{switch}"] = word
    return switches


def apply_huge_pages(host: Host, config: NodeConfig) -> StepOutcome:
    """Set the switches that the config names, for now and for every boot."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    switches = huge_page_switches(config)
    if not switches:
        apply_absence(host, SETTINGS_FILE, outcome)
        return outcome
    lines = [f"w {path} - - - - {word}\n" for path, word in switches.items()]
    apply_file(host, SETTINGS_FILE, "".join(lines).encode(), PUBLIC, outcome)
    if not has_systemd(host):
        return outcome
    if _are_set(host, switches):
        outcome.already.append("huge page switches are set")
        return outcome
    run_command(host, ["systemd-tmpfiles", "--create", SETTINGS_FILE])
    if not _are_set(host, switches):
        raise UnavailableError(f"the kernel did not take {', '.join(switches)}")
    outcome.changed.append("set the huge page switches")
    return outcome


def _are_set(host: Host, switches: dict[str, str]) -> bool:
    """Say whether the word in brackets, which is the one in force, is ours for each switch."""
    return all(
        f"[{word}]".encode() in (find_file(host, path) or b"") for path, word in switches.items()
    )
