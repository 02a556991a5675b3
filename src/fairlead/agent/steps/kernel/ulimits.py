"""
Resource limits of containerd, which every container inherits.

LimitMEMLOCK= counts bytes, as the kernel does; the contract's value is passed on as it is.
"""

from __future__ import annotations

from fairlead.agent.steps.one_line import is_made_of
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import drop_in_path, has_systemd
from fairlead.agent.steps.write import PUBLIC, apply_absence, apply_file
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

DROP_IN = drop_in_path("containerd.service", "limits")

# field of ulimit_config: directive
DIRECTIVES = {"no_file": "LimitNOFILE", "max_locked_memory": "LimitMEMLOCK"}

# systemd's suffixes for multiples of 1024.
SUFFIXES = "KMGTPE"


def render_limits(config: NodeConfig) -> str:
    """Return the drop-in, or '' if the config sets no limit."""
    lines = []
    for field, directive in DIRECTIVES.items():
        path = f"custom_linux_os_config.ulimit_config.{field}"
        value = config.text(path)
        if value and not all(_is_limit(part) for part in value.split(":", 1)):
            raise InputError(
                "not a limit", field=path, hint="expected NUMBER, infinity or SOFT:HARD"
            )
        if value:
            lines.append(f"{directive}={value}\n")
    return "[Service]\n" + "".join(lines) if lines else ""


def apply_ulimits(host: Host, config: NodeConfig) -> StepOutcome:
    """Give containerd the limits of this config, or leave it those of its package."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    text = render_limits(config)
    if text:
        apply_file(host, DROP_IN, text.encode(), PUBLIC, outcome)
    else:
        apply_absence(host, DROP_IN, outcome)
    return outcome


def _is_limit(text: str) -> bool:
    number = text[:-1] if text[-1:] in tuple(SUFFIXES) else text
    return text == "infinity" or is_made_of(number, "0123456789")
